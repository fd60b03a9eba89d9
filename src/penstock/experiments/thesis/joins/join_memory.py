"""E3.1 and E3.2: buffers and accuracy, as predicted and as needed, in congestion and in a burst."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from penstock.experiments.thesis.joins.forms import (
    at_present_rates,
    by_count,
    by_key,
    measured,
    moments,
    passed_keys,
    printed_bounds,
    true_figures,
)
from penstock.experiments.thesis.joins.lifetimes import accuracy, buffered, least_buffers
from penstock.experiments.thesis.joins.queries import JoinScene, scene
from penstock.experiments.thesis.joins.streams import Times
from penstock.experiments.trial import Effort
from penstock.sim.report import Claim, Report

TICK = 0.1  # seconds: one train
STEPS = 20  # points of a curve
COMPLETE = 1 - 1e-12
NEARLY = 0.992  # what the thesis has at least with figures that are measured


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Buffers of each input over time, and accuracies, by form."""

    when: Times
    buffers: dict[str, list[Times]]
    accuracies: dict[str, float]


FORMS = ("least", "by count", "by count, measured", "by key", "by key, measured")
LEADING = ("least", "by count", "by key")


def run_forms(given: JoinScene) -> Run:
    """Return what both forms keep, and what rows they make, with known and measured figures."""
    streams = given.streams
    when = np.linspace(0, given.seconds, STEPS + 1)[1:]
    at = moments(streams)
    figures = true_figures(streams, given.factors, at)
    bounds, seen = printed_bounds(figures), measured(streams, given.seconds, TICK * given.scale)
    until = {
        "by count": [by_count(s, at, b) for s, b in zip(streams, bounds, strict=True)],
        "by count, measured": [
            by_count(s, seen.when, b) for s, b in zip(streams, seen.bounds, strict=True)
        ],
        "by key": by_key(streams, at, [passed_keys(each, at) for each in streams]),
        "by key, measured": by_key(streams, seen.when, seen.passed),
    }
    if not given.below:  # what rates joins give is not known by the moment
        settling = at_present_rates(streams, given.factors, at)
        bounds_now = printed_bounds(replace(figures, settling=settling))
        until["by count, present rates"] = [
            by_count(s, at, b) for s, b in zip(streams, bounds_now, strict=True)
        ]
    buffers = {
        name: [buffered(s, u, when).astype(float) for s, u in zip(streams, each, strict=True)]
        for name, each in until.items()
    }
    # What a buffer by count may take is what it was given, whether or not it is full yet.
    buffers["by count"] = [_latest(b, at, when) for b in bounds]
    buffers["by count, measured"] = [_latest(b, seen.when, when) for b in seen.bounds]
    buffers["least"] = [each.astype(float) for each in least_buffers(streams, when)]
    return Run(when, buffers, {name: accuracy(streams, each) for name, each in until.items()})


def _latest(values: Times, at: Times, when: Times) -> Times:
    """Return the greatest value in the time up to each moment."""
    cuts = np.searchsorted(at, when, side="right")
    begins = np.concatenate([[0], cuts[:-1]])
    return np.array([values[b:e].max(initial=0.0) for b, e in zip(begins, cuts, strict=True)])


def join_memory(seed: int, effort: Effort) -> Report:
    """Query 1: S2 is congested from 10 to 40 s, S3 comes eight times as fast from 80 to 90 s."""
    runs = _runs(1, seed, effort)
    return Report(
        "E3.1: buffers of query 1",
        "tuples kept of S3; S2 is congested from 10 to 40 s, S3 bursts from 80 to 90 s",
        ("second", *FORMS),
        _curves(runs[0].when, [runs[0].buffers[form][2] for form in FORMS]),
        (
            *_accuracy_claims(runs),
            Claim("S1 and S3 grow in S2's congestion", _grows(runs[0], (0, 2), 10, 40)),
            Claim("S3 grows in its burst", _grows(runs[0], (2,), 80, 90)),
            _keeps_less(runs),
        ),
    )


def join_pipelines(seed: int, effort: Effort) -> Report:
    """Queries 2 and 3: J3 joins rows of two joins, of which the first is held up."""
    runs = {query: _runs(query, seed, effort) for query in (2, 3)}
    same, other = runs[2][0], runs[3][0]
    columns = [f"query {query}: {form}" for query in runs for form in LEADING]
    curves = [each.buffers[form][1] for each in (same, other) for form in LEADING]
    every = [each for found in runs.values() for each in found]
    margins = {query: fmean(_margin(each) for each in found) for query, found in runs.items()}
    first = fmean(_margin(each) for each in _runs(1, seed, effort))
    return Report(
        "E3.2: buffers of queries 2 and 3",
        "tuples kept of S8 at J3, while J1 is held up from 10 to 40 s",
        ("second", *columns),
        _curves(same.when, curves),
        (
            *_accuracy_claims(every),
            Claim("S8 grows while S7 is behind", _grows(same, (1,), 10, 40)),
            Claim(
                f"the margin over what is needed is wider than for query 1 ({first:.2g} times, "
                f"{margins[2]:.2g} and {margins[3]:.2g})",
                min(margins.values()) > first,
            ),
            _keeps_less(every),
        ),
    )


def _runs(query: int, seed: int, effort: Effort) -> list[Run]:
    return [run_forms(scene(query, seed + trial, effort)) for trial in range(effort.trials)]


def _curves(when: Times, curves: Sequence[Times]) -> tuple[tuple[float, ...], ...]:
    return tuple(
        (float(second), *(float(each[at]) for each in curves)) for at, second in enumerate(when)
    )


def _accuracy_claims(runs: Sequence[Run]) -> list[Claim]:
    least = {name: min(each.accuracies[name] for each in runs) for name in runs[0].accuracies}
    found = []
    for form in (each for each in least if not each.endswith("measured")):
        found.append(Claim(f"{form}: nothing is lost ({least[form]:.2%})", least[form] >= COMPLETE))
    for form in ("by count, measured", "by key, measured"):
        share = f"{least[form]:.2%}"
        found.append(Claim(f"{form}: at most 0.8 % is lost ({share})", least[form] >= NEARLY))
    return found


def _grows(run: Run, places: Sequence[int], begins: float, ends: float) -> bool:
    scale = run.when[-1] / 100
    at = [int(np.searchsorted(run.when, edge * scale)) for edge in (begins, ends)]
    before, after = (min(each, len(run.when) - 1) for each in at)
    return all(
        run.buffers[form][place][after] > 1.5 * run.buffers[form][place][before]
        for form in LEADING
        for place in places
    )


def _margin(run: Run) -> float:
    kept = sum(float(each.sum()) for each in run.buffers["by count"])
    return kept / max(1.0, sum(float(each.sum()) for each in run.buffers["least"]))


def _keeps_less(runs: Sequence[Run]) -> Claim:
    kept = {
        form: sum(float(each.sum()) for run in runs for each in run.buffers[form])
        for form in ("by count", "by key")
    }
    share = kept["by key"] / max(1.0, kept["by count"])
    return Claim(f"letting go by key keeps less ({share:.0%})", share < 1)
