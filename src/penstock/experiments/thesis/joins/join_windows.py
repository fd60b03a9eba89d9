"""E3.3: what a window of fixed size loses at equal memory, and what it needs to lose no more."""

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from penstock.experiments.thesis.joins.forms import by_count, by_key, moments, passed_keys
from penstock.experiments.thesis.joins.lifetimes import accuracy, buffered
from penstock.experiments.thesis.joins.queries import JoinScene, scene
from penstock.experiments.trial import Effort
from penstock.sim.report import Claim, Report

QUALITY = 0.992
POOR = 0.40  # of the rows, that the thesis' window join makes at equal memory
STEPS = 14  # of halving
MOST = 1024.0  # times the memory


def join_windows(seed: int, effort: Effort) -> Report:
    """Give a join over windows of tuples the memory that the join without windows took."""
    rows: list[tuple[str | float, ...]] = []
    claims: list[Claim] = []
    for query in (1, 2, 3):
        found = [_compared(scene(query, seed + trial, effort)) for trial in range(effort.trials)]
        kept, equal, needed = (fmean(column) for column in zip(*found, strict=True))
        rows.append((f"query {query}", kept, 100 * equal, needed, needed / max(1.0, kept)))
        claims += [
            Claim(f"query {query}: at equal memory below 40 % ({equal:.0%})", equal < POOR),
            Claim(
                f"query {query}: it needs more for 99.2 % ({needed / max(1.0, kept):.2g} times)",
                needed > kept,
            ),
        ]
    return Report(
        "E3.3: without a window, and with one",
        "tuples in memory, on the mean; accuracy of the window join at the same, and what it needs",
        ("query", "without a window", "accuracy % at equal memory", "window for 99.2 %", "times"),
        tuple(rows),
        tuple(claims),
    )


def _compared(given: JoinScene) -> tuple[float, float, float]:
    """Return the mean memory, the window join's accuracy with it, and what that needs."""
    streams, at = given.streams, moments(given.streams)
    until = by_key(streams, at, [passed_keys(each, at) for each in streams])
    when = np.linspace(0, given.seconds, 201)[1:]
    kept = [
        float(buffered(each, gone, when).mean()) for each, gone in zip(streams, until, strict=True)
    ]
    low, high = 1.0, MOST
    for _ in range(STEPS):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if _accuracy(given, kept, middle) >= QUALITY else (middle, high)
    return sum(kept), _accuracy(given, kept, 1.0), high * sum(kept)


def _accuracy(given: JoinScene, kept: Sequence[float], times: float) -> float:
    """Return a window join's accuracy with so many times these tuples of each stream."""
    at = moments(given.streams)
    until = [
        by_count(stream, at, np.full(len(at), max(1.0, np.ceil(most * times))))
        for stream, most in zip(given.streams, kept, strict=True)
    ]
    return accuracy(given.streams, until)
