"""Judgement: how often a simulated query's contract was kept, window by window."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.qos.contracts.contracts import KEPT_SHARE, Account, Sampling, Verdict
from penstock.qos.load.forecast import WINDOW_SECONDS
from penstock.sim.contract_simulation import DeliveredTrains, Story
from penstock.sim.workloads.arrivals import rows_of
from penstock.sim.workloads.scene import ContractScene

MOMENT = 1e-6

Windows = npt.NDArray[np.float64]  # a figure of each window


@dataclass(frozen=True, slots=True)
class Judged:
    """A query's latency, and the shares of its windows in time, within the error, and both.

    The first two are of windows in which it was not suspended, the last is of all.
    """

    verdict: Verdict
    in_time: float
    within_error: float
    kept: float
    suspended: float


def judged(scene: ContractScene, story: Story, query: str, seed: int) -> Judged:
    """Return what became of a query's contract.

    A window is in time if 99 % of what it shows is; it is within its error if no more tuples are
    missing, or, of an aggregate, by the share of its groups whose sums, scaled up from samples as
    large, are no further from the truth. What was never delivered is late.
    """
    contract, got = scene.contracts[query], story.delivered[query]
    windows = math.ceil(scene.seconds / WINDOW_SECONDS)
    whole = _whole(scene, query, windows)
    arrays = [np.array(each) for each in (got.arrived, got.latency, got.tuples, got.keep)]
    arrived, latency, tuples, keep = arrays
    place = np.minimum((arrived / WINDOW_SECONDS).astype(np.int64), windows - 1)
    stands_for = tuples / keep
    quick = latency <= contract.max_latency + MOMENT
    in_time = _by_window(place[quick], stands_for[quick], windows) >= KEPT_SHARE * whole
    if query in scene.samplings:
        there = _by_window(place, stands_for, windows) >= (1 - contract.max_error) * whole - MOMENT
        close = _close(got, scene.samplings[query][1], place, windows, seed)
        right = close(contract.max_error) * there
    else:
        there = _by_window(place, tuples, windows) >= (1 - contract.max_error) * whole - MOMENT
        right = there.astype(np.float64)
    running, some = _running(story, query, windows, contract.max_latency), whole > 0
    account = Account().delivered(contract, latency, tuples)
    return Judged(
        account.verdict(),
        _mean(in_time[some & running]),
        _mean(right[some & running]),
        _mean((in_time * right)[some]),
        1 - _mean(running),
    )


def utility(scene: ContractScene, found: dict[str, Judged]) -> float:
    """Return the weighted share of windows whose contract was kept."""
    total = math.fsum(scene.contracts[query].weight for query in found)
    kept = math.fsum(scene.contracts[query].weight * each.kept for query, each in found.items())
    return kept / total


def _running(story: Story, query: str, windows: int, wait: float) -> npt.NDArray[np.bool_]:
    """Say in which windows a query was never suspended, nor while their last tuples waited."""
    found = np.ones(windows, dtype=np.bool_)
    for at, _, measures in story.measures:
        if query in measures.suspended:
            first = int(max(0.0, at - wait) / WINDOW_SECONDS)
            found[first : int(at / WINDOW_SECONDS) + 1] = False
    return found


def _mean(shares: npt.NDArray[np.float64] | npt.NDArray[np.bool_]) -> float:
    return float(shares.mean()) if len(shares) else 1.0


def _whole(scene: ContractScene, query: str, windows: int) -> Windows:
    """Return the tuples of each window that a query would have if nothing were dropped."""
    number = int(query[-1])
    name = list(scene.workload.arrivals)[number]
    arrivals = scene.workload.arrivals[name]
    middle = np.array([(each.first + each.last) / 2 for each in arrivals])
    rows = np.array([float(rows_of([each])) for each in arrivals])
    place = np.minimum((middle / WINDOW_SECONDS).astype(np.int64), windows - 1)
    return _by_window(place, rows, windows)


def _close(
    got: DeliveredTrains, sampling: Sampling, place: npt.NDArray[np.int64], windows: int, seed: int
) -> Callable[[float], Windows]:
    """Return what tells the share of each window's groups whose sums are within an error.

    A group's tuples and those of them that are kept are drawn, and the values of both, with a mean
    of 1 and the stated spread: a count is the sum of values that do not vary.
    """
    drawn = np.random.default_rng(seed)
    keep = np.array(got.keep)
    full = np.round(np.array(got.tuples) / keep).astype(np.int64)
    groups = max(1, round(WINDOW_SECONDS / sampling.rows))
    off = []
    for _ in range(groups):
        mine = drawn.binomial(full, 1 / groups)
        kept = drawn.binomial(mine, np.minimum(1.0, keep))
        shown = _sum_of(kept, sampling.spread, drawn)
        truth = _by_window(place, shown + _sum_of(mine - kept, sampling.spread, drawn), windows)
        found = _by_window(place, shown / keep, windows)
        off.append(np.abs(found - truth) / np.maximum(truth, MOMENT))
    return lambda error: np.mean([each <= error for each in off], axis=0)


def _sum_of(
    rows: npt.NDArray[np.int64], spread: float, drawn: np.random.Generator
) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = rows + np.sqrt(spread * rows) * drawn.standard_normal(
        len(rows)
    )
    return found


def _by_window(place: npt.NDArray[np.int64], rows: npt.ArrayLike, windows: int) -> Windows:
    return np.bincount(place, rows, windows).astype(np.float64)
