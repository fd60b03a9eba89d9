"""The documents' theorems, over random small workloads and by brute force."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.plan.operators import key
from penstock.schedule import STRATEGIES, ReadyUnit, RoundRobin, make_strategy
from penstock.schedule.batching import FixedLength
from penstock.sim import Machine, Outcome, Workload, simulate
from penstock.sim.workloads.arrivals import poisson
from penstock.sim.workloads.random_queries import QuerySet
from tests.examples import examples
from tests.unit.sim.worlds import some_lines

TUPLES = FixedLength(1e-12)  # one train a run, and the trains below are single tuples
TRACED = Machine(batching=TUPLES, traced=True)
PREEMPTIVE = Machine(batching=TUPLES, traced=True, preemptive=True)


class AnyOrder(RoundRobin):
    """A path-based strategy that follows a list of choices, good or bad."""

    def __init__(self, choices: Sequence[int]) -> None:
        super().__init__()
        self._choices, self._step = choices, 0

    def next(self, ready: Sequence[ReadyUnit], now: float) -> str | None:
        self._step += 1
        choice = self._choices[self._step % len(self._choices)]
        return ready[choice % len(ready)].key if ready else None


def waiting(outcome: Outcome, at: float) -> float:
    """Return the memory in use at a time, all of that moment's events done."""
    times = [time for time, _, _ in outcome.trace]
    place = bisect_right(times, at + 1e-9)
    return outcome.trace[place - 1][1] if place else 0.0


def instants(*outcomes: Outcome) -> list[float]:
    return sorted({time for outcome in outcomes for time, _, _ in outcome.trace})


State = tuple[tuple[int, ...], ...]  # how many tuples have passed each stage of each path
CHOICES = st.lists(st.integers(0, 5), min_size=1, max_size=12)


def at_once(workload: Workload) -> Workload:
    arrivals = {
        name: [type(each)(each.rows, 0.0, 0.0) for each in all_]
        for name, all_ in workload.arrivals.items()
    }
    return Workload(workload.graph, workload.truth, arrivals, workload.validity)


@given(some_lines(), CHOICES)
@settings(deadline=None, max_examples=examples(40))
def test_no_path_based_strategy_beats_pcs_where_all_tuples_wait_already(
    workload: Workload, choices: list[int]
) -> None:
    workload = at_once(workload)
    pcs = simulate(workload, make_strategy("pcs"), TRACED)
    for strategy in (AnyOrder(choices), make_strategy("fifo"), make_strategy("round_robin")):
        other = simulate(workload, strategy, TRACED)
        assert pcs.total_latency <= other.total_latency + 1e-6
        for at in instants(pcs, other):
            assert waiting(pcs, at) <= waiting(other, at) + 1e-6


@given(some_lines(), CHOICES)
@settings(deadline=None, max_examples=examples(40))
def test_no_path_based_strategy_beats_pcs_by_more_than_the_tuple_at_work_on_each_path(
    workload: Workload, choices: list[int]
) -> None:
    # The theorems are exact for tuples of no size; a tuple that is begun is not yet done.
    paths = len(workload.graph.queries)
    pcs = simulate(workload, make_strategy("pcs"), PREEMPTIVE)
    for strategy in (AnyOrder(choices), make_strategy("fifo"), make_strategy("round_robin")):
        other = simulate(workload, strategy, TRACED)
        assert pcs.total_latency <= other.total_latency + paths * other.seconds
        for at in instants(pcs, other):
            assert waiting(pcs, at) <= waiting(other, at) + paths


def least_peak(workload: Workload) -> float:
    """Return the least peak of queued memory of any schedule, by trying all of them."""
    truth = workload.truth
    stages, comes = [], []
    for root in workload.graph.queries.values():
        rows, found, node = 1.0, [], root
        line = []
        while node.inputs:
            line.insert(0, truth.operator(key(node)))
            node = node.inputs[0]
        for place, each in enumerate(line):
            seconds = rows * each.seconds.value
            left = rows * each.selectivity.value if place < len(line) - 1 else 0.0
            found.append((seconds, rows, left))
            rows = left
        stages.append([each for each in found if each[1] > 0])
        comes.append([each.first for each in workload.arrivals[key(node)]])

    def held(state: State, now: float) -> float:
        total = 0.0
        for line, times, passed in zip(stages, comes, state, strict=True):
            here = [bisect_right(times, now + 1e-9), *passed]
            total += sum((here[n] - here[n + 1]) * line[n][1] for n in range(len(line)))
        return total

    @cache
    def best(state: State, now: float) -> float:
        moves = []
        for path, (line, times, passed) in enumerate(zip(stages, comes, state, strict=True)):
            here = [bisect_right(times, now + 1e-9), *passed]
            moves += [(path, n) for n in range(len(line)) if here[n] > here[n + 1]]
        peak = held(state, now)
        if not moves:
            later = [time for times in comes for time in times if time > now + 1e-9]
            return max(peak, best(state, min(later))) if later else peak
        found = []
        for path, stage in moves:
            then = round(now + stages[path][stage][0], 9)
            before = held(state, then - 2e-9)  # what came meanwhile, and the tuple still held
            passed = list(state[path])
            passed[stage] += 1
            after = (*state[:path], tuple(passed), *state[path + 1 :])
            found.append(max(peak, before, best(after, then)))
        return min(found)

    start = min(time for times in comes for time in times)
    return best(tuple(tuple(0 for _ in line) for line in stages), start)


@given(some_lines(most_paths=2, most_steps=3, most_tuples=4))
@settings(deadline=None, max_examples=examples(25))
def test_chain_needs_at_most_a_tuple_a_path_more_than_the_best_of_all_schedules(
    workload: Workload,
) -> None:
    chain = simulate(workload, make_strategy("chain"), PREEMPTIVE)
    assert chain.peak_bytes <= least_peak(workload) + len(workload.graph.queries) + 1e-6


@pytest.mark.parametrize("name", sorted(STRATEGIES))
@given(seed=st.integers(0, 20))
@settings(deadline=None, max_examples=2)
def test_below_capacity_no_tuple_waits_beyond_the_busy_time_it_came_in(
    name: str, seed: int
) -> None:
    queries = QuerySet(queries=(3, 5), operators=(6, 9))
    workload = queries.draw(seed, lambda n: poisson(15, 6, seed * 9 + n)).at_load(0.7)
    outcome = simulate(workload, make_strategy(name), Machine(traced=True))
    longest = began = 0.0
    for time, _, tuples in outcome.trace:
        if tuples < 1e-6:
            longest, began = max(longest, time - began), float("inf")
        else:
            began = min(began, time)
    assert outcome.max_latency <= longest + 0.02
