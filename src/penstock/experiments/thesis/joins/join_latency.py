"""E3.5: how long rows take after the last of their tuples has come, by the way to keep tuples."""

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from penstock.experiments.thesis.joins.forms import moments, passed_keys, reached
from penstock.experiments.thesis.joins.lifetimes import combinations
from penstock.experiments.thesis.joins.queries import scene
from penstock.experiments.thesis.joins.streams import KeyedStream
from penstock.experiments.trial import Effort
from penstock.qos.joins.memory import DISK_SECONDS, ON_DISK, SORTING, STRATEGIES
from penstock.sim.report import Claim, Report

TRAIN_SECONDS = 0.05  # that a row waits for its train, and for its run, whatever the strategy
MUCH = 100  # "two orders of magnitude"
AGAIN, CLOSE = 1.5, 0.2


def join_latency(seed: int, effort: Effort) -> Report:
    """Let rows of query 1 wait for the disk, for the order of their inputs, or for both."""
    scenes = [scene(1, seed + trial, effort) for trial in range(effort.trials)]
    waits = {name: fmean(_latency(name, each.streams) for each in scenes) for name in STRATEGIES}
    plain, disk = waits["plain"], waits["dbf"]
    return Report(
        "E3.5: latency by strategy",
        f"seconds on the mean, query 1; {TRAIN_SECONDS:g} s of them for the train and the run",
        ("strategy", "latency s"),
        tuple(waits.items()),
        (
            Claim(
                f"dbf takes half as long again ({disk / plain:.3g} times)",
                abs(disk / plain - AGAIN) < CLOSE,
            ),
            Claim(
                f"msf and hybrid take a hundred times as long ({waits['msf'] / plain:.3g} times)",
                min(waits["msf"], waits["hybrid"]) >= MUCH * plain,
            ),
        ),
    )


def _latency(strategy: str, streams: Sequence[KeyedStream]) -> float:
    """Return how long rows take on the mean after the last of their tuples has come."""
    at = moments(streams)
    passed = [reached(at, passed_keys(each, at), each.keys) for each in streams]
    waits, rows = 0.0, 0
    for found in combinations(streams):
        made = found.times
        if strategy in SORTING:
            ready = [each[places] for each, places in zip(passed, found.places, strict=True)]
            made = np.maximum(made, np.max(ready, axis=0))
        known = made < np.inf  # at the end some are not sorted yet
        waits += float((made - found.times)[known].sum())
        rows += int(known.sum())
    disk = DISK_SECONDS if strategy in ON_DISK else 0.0
    return TRAIN_SECONDS + disk + waits / max(1, rows)
