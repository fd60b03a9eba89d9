"""E5.7: the memory that time-slices of a region take, against windows that are just large enough.

Seven sensors give a reading every two minutes; a slice is the join of their readings by its number.
How far a sensor is behind wanders, and so does its disorder, up to what the setting says.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from penstock.experiments.thesis.joins.forms import (
    by_key,
    moments,
    passed_keys,
    printed_bounds,
    true_figures,
)
from penstock.experiments.thesis.joins.lifetimes import accuracy, buffered, least_buffers
from penstock.experiments.thesis.joins.streams import KeyedStream, Times
from penstock.experiments.trial import Effort
from penstock.sim.report import Claim, Report

SENSORS = 7  # S1 to S7 of the thesis' Figure 5.11
EVERY = 120.0  # seconds between readings
SLICES = 4000
MINUTES = 60.0
TURNS = 40  # how often a sensor's delay takes another direction
CLOSE = 10.0  # points of per cent
MUCH = 20.0  # per cent
COMPLETE = 1 - 1e-12


@dataclass(frozen=True, slots=True)
class Scrambling:
    """A row of Table 5.4: how scrambled and how late sensors are at most, and what it saves."""

    name: str
    scrambled: int
    lag_minutes: float
    printed: float


SETTINGS = (
    Scrambling("SF 0, lag 0", 0, 0, 0),
    Scrambling("SF to 200, lag 0", 200, 0, 46),
    Scrambling("SF 0, lag to 120 min", 0, 120, 12),
    Scrambling("SF 0, lag to 10 min", 0, 10, 12),
    Scrambling("SF to 200, lag to 10 min", 200, 10, 61),
)


def join_savings(seed: int, effort: Effort) -> Report:
    """Compare buffers that follow the data with one window for all sensors, and one for each."""
    rows: list[tuple[str, float, float, float, float]] = []
    claims: list[Claim] = []
    for setting in SETTINGS:
        found = [_saved(setting, seed + trial, effort) for trial in range(effort.trials)]
        by_count, key, lone = (100 * fmean(column) for column in zip(*found, strict=True))
        rows.append((setting.name, setting.printed, by_count, key, lone))
        claims.append(
            Claim(
                f"{setting.name}: {setting.printed:.0f} % ({key:.0f} by key)",
                abs(key - setting.printed) <= CLOSE,
            )
        )
    disturbed = min(row[3] for row in rows[1:])
    claims.append(Claim("much is saved wherever streams are disordered or late", disturbed >= MUCH))
    return Report(
        "E5.7: memory saved against fixed windows",
        "per cent of a window that is just large enough, for all sensors alike; the last: for each",
        ("setting", "Table 5.4 %", "by count %", "by key %", "by key, windows for each %"),
        tuple(rows),
        tuple(claims),
    )


def _saved(setting: Scrambling, seed: int, effort: Effort) -> tuple[float, float, float]:
    """Return the shares saved: by count, by key, and by key against a window for each sensor."""
    drawn = np.random.default_rng(seed)
    slices = max(50, int(SLICES * min(1.0, effort.seconds / Effort().seconds)))
    streams = [_sensor(drawn, setting, slices) for _ in range(SENSORS)]
    at = moments(streams)
    factors = [each.factor for each in streams]
    bounds = printed_bounds(true_figures(streams, factors, at))
    until = by_key(streams, at, [passed_keys(each, at) for each in streams])
    assert accuracy(streams, until) >= COMPLETE  # noqa: S101  (its law)
    # The readings of a slice may come all at once: what counts is what is there before the next.
    when = np.linspace(0, slices * EVERY, 400)[1:] - EVERY / 2
    windows = [float(max(1, each.max())) for each in least_buffers(streams, when)]
    kept = sum(float(np.maximum(1, buffered(s, u, when)).mean()) for s, u in _pairs(streams, until))
    allowed = sum(float((each - 1)[np.searchsorted(at, when) - 1].mean()) for each in bounds)
    whole = SENSORS * max(windows)
    return 1 - min(allowed, whole) / whole, 1 - kept / whole, 1 - kept / sum(windows)


def _pairs(
    streams: Sequence[KeyedStream], until: Sequence[Times]
) -> list[tuple[KeyedStream, Times]]:
    return list(zip(streams, until, strict=True))


def _sensor(drawn: np.random.Generator, setting: Scrambling, slices: int) -> KeyedStream:
    """Return a sensor's readings as they come."""
    number = np.arange(slices)
    turns = np.linspace(0, slices, TURNS)
    late = np.interp(number, turns, drawn.random(TURNS)) * setting.lag_minutes * MINUTES
    scrambled = int(drawn.integers(setting.scrambled + 1))
    order = np.argsort(number + drawn.random(slices) * scrambled, kind="stable")
    # A reading that others overtook takes their place on the way; a link keeps its pace.
    times = np.maximum.accumulate(number * EVERY + late)
    return KeyedStream(number[order], times, rate=1 / EVERY)
