"""E3.4: what each way to keep tuples takes in memory.

`printed` are the formulas of TIME-10 to TIME-12 over time, with the sort buffer, `by key` is what
Penstock's join keeps. In pipelines only the joins at the leaves sort.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from penstock.experiments.thesis.joins.forms import (
    NOTHING,
    by_key,
    moments,
    passed_keys,
    reached,
    true_figures,
    while_settling,
)
from penstock.experiments.thesis.joins.queries import JoinScene, scene
from penstock.experiments.thesis.joins.streams import KeyedStream, Times
from penstock.experiments.trial import Effort
from penstock.qos.joins.bounds import MATCHING, factor_by_other_key
from penstock.qos.joins.hindsight import Keys
from penstock.qos.joins.memory import ON_DISK, READ_AHEAD, SORTING, STRATEGIES
from penstock.sim.report import Claim, Report

POINTS = 100


@dataclass(frozen=True, slots=True, eq=False)
class LeafJoin:
    """One join: its inputs, their factors as they come, and once the leaves have been sorted."""

    streams: Sequence[KeyedStream]
    factors: Sequence[int]
    sorted_factors: Sequence[int]
    is_leaf: bool = True


def join_strategies(seed: int, effort: Effort) -> Report:
    """Average the memory of all joins of a query over time."""
    rows: list[tuple[str | float, ...]] = []
    printed: dict[tuple[int, str], float] = {}
    kept: dict[tuple[int, str], float] = {}
    for query in (1, 2, 3):
        scenes = [scene(query, seed + trial, effort) for trial in range(effort.trials)]
        for name in STRATEGIES:
            both = [_memory(name, query, each) for each in scenes]
            printed[query, name], kept[query, name] = (
                fmean(column) for column in zip(*both, strict=True)
            )
            rows.append((str(query), name, printed[query, name], kept[query, name]))
    return Report(
        "E3.4: ways to keep tuples",
        "tuples in memory on the mean, all joins of a query together",
        ("query", "strategy", "printed", "by key"),
        tuple(rows),
        tuple(_memory_claims(printed, kept)),
    )


def _memory_claims(
    printed: dict[tuple[int, str], float], kept: dict[tuple[int, str], float]
) -> list[Claim]:
    found = []
    for text, tuples in (("printed", printed), ("by key", kept)):
        pipelines = [(tuples[query, "msf"], tuples[query, "dbf"]) for query in (2, 3)]
        lowest = all(
            tuples[query, "hybrid"] <= min(tuples[query, name] for name in STRATEGIES)
            for query in (1, 2, 3)
        )
        found += [
            Claim(f"{text}: query 1 takes less with dbf", tuples[1, "dbf"] < tuples[1, "msf"]),
            Claim(f"{text}: queries 2 and 3 take less with msf", all(m < d for m, d in pipelines)),
            Claim(f"{text}: hybrid takes least", lowest),
        ]
    saves = all(kept[query, "msf"] < kept[query, "plain"] for query in (1, 2, 3))
    return [*found, Claim("by key: sorting saves memory", saves)]


def _memory(strategy: str, query: int, given: JoinScene) -> tuple[float, float]:
    """Return the tuples that all joins of a query keep, by the formulas and by key."""
    when = np.linspace(0, given.seconds, POINTS + 1)[1:]
    joins = _joins(query, given)
    by_formula = sum(float(_printed(strategy, each, when).mean()) for each in joins)
    return by_formula, sum(float(_kept(strategy, each, when).mean()) for each in joins)


def _joins(query: int, given: JoinScene) -> list[LeafJoin]:
    copies = [each.multiplicity - 1 for each in given.streams]
    if not given.below:
        return [LeafJoin(given.streams, given.factors, copies)]
    leaves = [
        LeafJoin(each, [s.factor for s in each], [s.multiplicity - 1 for s in each])
        for each in given.below
    ]
    if query != 2:  # noqa: PLR2004  (the thesis' number)
        both = zip(copies, given.below, strict=True)
        copies = [factor_by_other_key(each, below[0].dependent) for each, below in both]
    return [*leaves, LeafJoin(given.streams, given.factors, copies, is_leaf=False)]


def _printed(strategy: str, join: LeafJoin, when: Times) -> Times:
    """Return what the formulas keep of all inputs."""
    factors = join.sorted_factors if strategy in SORTING else join.factors
    settling = while_settling(join.streams, factors, when)
    lags = true_figures(join.streams, join.factors, when).lags
    total = np.zeros(len(when))
    for place in range(len(join.streams)):
        others = [at for at in range(len(join.streams)) if at != place]
        ahead = [0.0 if strategy in ON_DISK else lags[place][at] for at in others]
        pairs = [settling[place][at] + lag for at, lag in zip(others, ahead, strict=True)]
        most = np.maximum(1, factors[place] + np.max(pairs, axis=0)) + MATCHING
        if strategy in ON_DISK:
            most = most + READ_AHEAD
        if strategy in SORTING and join.is_leaf:
            most = most + join.factors[place]
        total += most
    return total


def _kept(strategy: str, join: LeafJoin, when: Times) -> Times:
    """Return what letting go by key keeps of all inputs in memory."""
    streams, at = join.streams, moments(join.streams)
    passed = [passed_keys(each, at) for each in streams]
    until = by_key(streams, at, passed)
    needed = by_key(streams, at, [_highs(each, at) for each in streams])  # the first may come
    total = np.zeros(len(when))
    for place, stream in enumerate(streams):
        sorts = strategy in SORTING and join.is_leaf
        ready = reached(at, passed[place], stream.keys) if sorts else stream.times
        begins = ready
        if strategy in ON_DISK:
            begins = np.maximum(ready, _read_back(stream, needed[place]))
        ends = np.maximum(until[place], ready)
        total += _between(np.minimum(begins, ends), ends, when)
        if sorts:
            total += _between(stream.times, ready, when)
    return total


def _highs(stream: KeyedStream, when: Times) -> Keys:
    """Return the greatest key that has come."""
    came = stream.came(when)
    greatest = np.maximum.accumulate(stream.keys)
    return np.where(came > 0, greatest[np.maximum(came, 1) - 1], NOTHING)


def _read_back(stream: KeyedStream, needed: Times) -> Times:
    """Return when tuples are in memory if those that are far ahead wait on disk."""
    order = np.argsort(stream.keys, kind="stable")
    earlier = np.maximum(np.arange(len(order)) - READ_AHEAD, 0)
    back = np.empty(len(order))
    back[order] = np.maximum.accumulate(needed[order])[earlier]
    back[order[:READ_AHEAD]] = 0.0
    return back


def _between(begins: Times, ends: Times, when: Times) -> Keys:
    """Return how many are there at some moments."""
    came = np.searchsorted(np.sort(begins), when, side="right")
    return came - np.searchsorted(np.sort(ends), when, side="right")
