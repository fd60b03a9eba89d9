"""Gates in a topology that dies: what was dropped stays dropped, and the rest knows its weight."""

import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.states.tuples.gate import GateState, gate_state
from penstock.model.goals import Goals
from penstock.model.schema import Column, Schema
from penstock.plan.operators import EventTime, Filter, Gate, Operator, Project, key
from penstock.plan.operators.gate import ALL, ERROR, KEPT, ROWS, SHED
from penstock.qos.contracts.answers import sampled
from penstock.runtime.quality.quality import Quality
from penstock.runtime.quality.statistics import Statistics
from penstock.runtime.work.live_unit import LiveUnit
from penstock.runtime.work.promise import Promise
from tests.examples import examples
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import SCHEMA, Hall, quality_of, scan

GATE = Gate(scan("s"), 0.5)
BY_WORTH = Gate(scan("s"), 0.9, "`n`")
# A query over a gate that says what came through, and a gate behind it.
TOLD = (Column(ERROR, "double"), Column(SHED, "double"), Column(ROWS, "bigint"))
TELLING = Project(
    GATE,
    (("ts", "`ts`"), ("n", "`n`"), (ERROR, "`_kept`"), (SHED, "`_kept`"), (ROWS, "1L")),
    Schema((*SCHEMA.columns, *TOLD)),
    (EventTime("ts"),),
)
SECOND = Gate(TELLING, 0.8, thinned=True)


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def gate_of(hall: Hall, gate: Gate = GATE) -> LiveUnit:
    return hall.topology.units[key(gate)]


def keeper(hall: Hall, gate: Gate = GATE) -> GateState:
    return gate_state(gate_of(hall, gate).state)


def test_an_open_gate_lets_everything_through(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    hall.add("a", GATE)
    hall.push("s", *range(100))
    hall.drain()
    assert hall.delivered("a") == list(range(100))
    (held,) = hall.sinks["a"].deliveries.values()
    assert held[KEPT].to_pylist() == [1_000_000] * 100


def test_a_gate_drops_by_hash_and_says_what_is_left_stands_for(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    hall.add("a", GATE)
    keeper(hall).keep = 0.25
    hall.push("s", *range(4000))
    hall.drain()
    left = hall.delivered("a")
    assert 850 < len(left) < 1150
    assert left == sorted(left)
    (held,) = hall.sinks["a"].deliveries.values()
    assert set(held[KEPT].to_pylist()) == {250_000}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["push", "keep", "take in", "turn", "deliver", "checkpoint", "die"]),
            st.integers(1, 10),
        ),
        max_size=30,
    ),
    st.sampled_from([GATE, BY_WORTH]),
)
@settings(max_examples=examples(120))
def test_a_replay_drops_the_same_tuples(actions: list[tuple[str, int]], gate: Gate) -> None:
    with tempfile.TemporaryDirectory() as home:
        hall = Hall(Path(home) / "home")
        hall.add("a", gate)
        pushed = 0
        for action, number in actions:
            if action == "push":
                hall.push("s", *range(pushed, pushed + number))
                pushed += number
            elif action == "keep":
                keeper(hall, gate).keep = number / 10
            else:
                hall.do(action)
        hall.drain()
        once = hall.delivered("a")
        assert once == sorted(set(once))  # nothing twice, nothing out of turn
        runs = hall.journal.runs_after(gate_of(hall, gate).reader, 0)
        assert all(0.1 <= each <= 1 for run in runs for each in run.keeps)
        hall.die()
        hall.drain()
        assert hall.delivered("a") == once


@given(st.lists(st.tuples(st.integers(1, 200), st.integers(1, 10), st.integers(1, 10)), max_size=5))
@settings(max_examples=examples(30))
def test_gates_in_a_row_multiply_and_a_replay_drops_the_same(
    trains: list[tuple[int, int, int]],
) -> None:
    with tempfile.TemporaryDirectory() as home:
        hall = Hall(Path(home) / "home")
        hall.add("all", TELLING)
        hall.add("some", SECOND)
        shares: dict[int, int] = {}
        for rows, first, second in trains:
            keeper(hall).keep, keeper(hall, SECOND).keep = first / 10, second / 10
            begin = len(hall.pushed["s"])
            hall.push("s", *range(begin, begin + rows))
            shares |= dict.fromkeys(range(begin, begin + rows), first * second * ALL // 100)
            hall.drain()
        once = hall.delivered("some")
        held = hall.sinks["some"].deliveries
        told = [each for number in sorted(held) for each in held[number][KEPT].to_pylist()]
        assert all(each.schema.names == ["ts", "n", KEPT] for each in held.values())
        assert told == [shares[number] for number in once]
        assert set(once) <= set(hall.delivered("all"))
        hall.die()
        hall.drain()
        assert hall.delivered("some") == once


def test_two_gates_drop_independently_of_each_other(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    hall.add("all", TELLING)
    hall.add("some", SECOND)
    keeper(hall).keep, keeper(hall, SECOND).keep = 0.5, 0.4
    for begin in range(0, 200_000, 1_000):  # a window of a thousand tuples each
        hall.push("s", *range(begin, begin + 1_000))
    hall.drain()
    left = np.bincount(np.array(hall.delivered("some")) // 1_000).astype(float)
    assert left.sum() == pytest.approx(40_000, rel=0.02)
    told = sampled(left, left, left, 0.5 * 0.4)
    assert (np.abs(told.count - 1_000) / 1_000 <= told.count_error()).mean() >= 0.92


def test_a_gate_by_worth_drops_the_least_and_says_which_share_is_left(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    hall.add("a", BY_WORTH)
    drawn = np.random.default_rng(3)
    for _ in range(20):  # while nothing is shed, it learns
        hall.push("s", *drawn.integers(0, 1000, 200).tolist())
        hall.take_in()
        hall.clock.sleep(2)
        hall.turn()
        hall.deliver()
    open_rows = len(hall.delivered("a"))
    assert open_rows == 20 * 200
    keeper(hall, BY_WORTH).keep = 0.25
    pushed = drawn.integers(0, 1000, 4000).tolist()
    hall.push("s", *pushed)
    hall.drain()
    left = hall.delivered("a")[open_rows:]
    assert left == [each for each in pushed if each >= min(left)]  # none that is worth less
    assert len(left) == pytest.approx(1000, rel=0.15)
    held = hall.sinks["a"].deliveries
    assert set(held[max(held)][KEPT].to_pylist()) == {round(1e6 * len(left) / 4000)}


def test_a_gate_by_worth_keeps_what_queries_want_where_all_has_become_worth_less(
    tmp_path: Path,
) -> None:
    hall = Hall(tmp_path / "home")
    hall.add("a", BY_WORTH)
    hall.push("s", *range(1000, 2000))
    hall.drain()
    keeper(hall, BY_WORTH).keep = 0.5
    hall.push("s", *range(500))
    hall.drain()
    assert hall.delivered("a")[1000:] == list(range(450, 500))  # max_error is 0.9


def loaded(home: Path, goals: Goals, cost: float) -> tuple[Hall, Quality]:
    """Return a hall whose tuples cost so many seconds behind the gate, and what looks at it."""
    hall, statistics = Hall(home), Statistics()
    query = hall.add("a", GATE)
    query.promise = Promise.of(goals)
    for second in range(20):
        rows = 100 * 4 ** (second % 4)  # small ones would not tell what large ones cost
        statistics.ran(key(GATE), rows, rows, rows * cost, float(second))
    return hall, quality_of(hall, statistics)


def look(hall: Hall, quality: Quality) -> None:
    """Look at the load, however long it took to look at it before."""
    quality._next_look = 0.0
    quality.look(lambda: hall.topology.graph, hall.clock.now())


def watch(hall: Hall, quality: Quality, seconds: int, rows: int) -> list[float]:
    """Let so many rows come each second, look twice a second, and return what the gate kept."""
    kept = []
    for _ in range(2 * seconds):
        first = len(hall.pushed["s"])
        hall.push("s", *range(first, first + rows // 2))
        hall.take_in()
        hall.clock.sleep(0.5)
        look(hall, quality)
        kept.append(keeper(hall).keep)
        for _ in hall.topology.units:  # one after the other, in a row
            hall.turn()
        hall.deliver()
    return kept


def test_a_gate_shuts_under_load_and_opens_when_it_is_gone(tmp_path: Path) -> None:
    hall, quality = loaded(tmp_path / "home", Goals(max_error=0.5), cost=0.005)
    hall.clock.sleep(20)
    assert set(watch(hall, quality, 5, 100)) == {1.0}  # half of what can be done
    busy = watch(hall, quality, 10, 400)  # twice of it
    assert min(busy) == 0.5  # no more than the query allows
    assert watch(hall, quality, 15, 40)[-1] == 1.0
    assert quality.shedding.placement.keeps == {}


def test_who_wants_exact_answers_sees_no_gate_shut(tmp_path: Path) -> None:
    hall, quality = loaded(tmp_path / "home", Goals(), cost=0.005)
    hall.clock.sleep(20)
    assert set(watch(hall, quality, 10, 1000)) == {1.0}
    assert quality.outlook.load > 1
    assert quality.shedding.placement.short


def test_a_gate_never_keeps_less_than_a_query_allows(tmp_path: Path) -> None:
    hall, quality = loaded(tmp_path / "home", Goals(max_error=0.146), cost=0.005)
    hall.clock.sleep(20)
    assert min(watch(hall, quality, 10, 1000)) == 0.86  # 0.854 is allowed, 0.85 is not


def test_a_flood_after_an_hour_of_silence_shuts_the_gate_within_seconds(tmp_path: Path) -> None:
    hall, quality = loaded(tmp_path / "home", Goals(max_error=0.5), cost=0.005)
    hall.clock.sleep(20)
    assert set(watch(hall, quality, 5, 60)) == {1.0}
    for _ in range(720):
        hall.clock.sleep(5)
        look(hall, quality)
        assert keeper(hall).keep == 1.0
    flood = watch(hall, quality, 6, 800)
    assert min(flood[:4]) < 1.0
    assert min(flood) == 0.5
    assert watch(hall, quality, 20, 20)[-1] == 1.0


def burst(hall: Hall, goals: Goals, seconds_a_tuple: float) -> LiveUnit:
    """Let 10 trains of 4,000 wait before a gate, behind which a tuple costs so much."""
    behind = Filter(GATE, ("x = x",))
    query = hall.add("a", behind)
    query.promise = Promise.of(goals)
    ran = hall.dispatcher.statistics.ran
    for second in range(20):
        rows = 1_000 * 4 ** (second % 4)
        ran(key(behind), rows, rows, rows * seconds_a_tuple, float(second))
    hall.dispatcher.run_queue.shedding_controller.look([gate_of(hall)])
    for train in range(10):
        hall.push("s", *range(train * 4_000, (train + 1) * 4_000))
        hall.take_in()
    return gate_of(hall)


def taken_by(hall: Hall, gate: LiveUnit) -> tuple[int, set[float]]:
    """Return how many trains the gate's first run takes, and what it keeps of them."""
    hall.turn()
    run = next(iter(hall.journal.runs_after(gate.reader, 0)))
    ((first, last),) = run.inputs.values()
    return last - first + 1, set(run.keeps) or {1.0}


@pytest.mark.parametrize(
    ("cost", "taken", "keeps"),
    [
        (1e-5, 10, {1.0}),  # all of it can be done in time
        (1.6e-4, 10, {0.79}),  # 31,250 can, in five seconds
        (4e-4, 6, {0.53}),  # 12,500 can, and no more than half of 24,000 may go
    ],
)
def test_a_gate_makes_a_burst_fit_that_nobody_has_foreseen(
    tmp_path: Path, cost: float, taken: int, keeps: set[float]
) -> None:
    hall = Hall(tmp_path / "home")
    gate = burst(hall, Goals(max_error=0.5), cost)
    assert gate_state(gate.state).keep == 1.0
    assert taken_by(hall, gate) == (taken, keeps)


def test_who_wants_exact_answers_loses_nothing_in_a_burst(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    gate = burst(hall, Goals(max_latency=timedelta(seconds=1)), 4e-4)
    assert taken_by(hall, gate) == (2, {1.0})


@pytest.mark.parametrize(
    ("seconds", "keep"),
    [
        (2.5, 0.79),  # 31,250 in five seconds, so that it is 7.5 seconds old
        (3.5, 0.63),  # 25,000 in four, so that it is as old then
    ],
)
def test_what_has_waited_long_has_less_time(tmp_path: Path, seconds: float, keep: float) -> None:
    hall = Hall(tmp_path / "home")
    gate = burst(hall, Goals(max_error=0.5, max_latency=timedelta(seconds=10)), 1.6e-4)
    hall.clock.sleep(1.0 + seconds)  # the first came at one
    assert taken_by(hall, gate) == (10, {keep})


def in_a_row(home: Path, errors: dict[str, float]) -> tuple[Hall, Quality]:
    """Return a hall with a query behind each of two gates in a row, which cost alike."""
    hall, statistics = Hall(home), Statistics()
    for name, root in (("all", TELLING), ("some", chained(SECOND))):
        query = hall.add(name, root)
        query.promise = Promise.of(Goals(max_error=errors[name]))
    for second in range(20):
        rows = 100 * 4 ** (second % 4)
        for each in (TELLING, chained(SECOND)):
            statistics.ran(key(each), rows, rows, rows * 0.005, float(second))
    return hall, quality_of(hall, statistics)


def chained(below: Operator) -> Operator:
    return Filter(below, ("a = a",))


def test_who_may_lose_more_loses_it_at_a_second_gate(tmp_path: Path) -> None:
    hall, quality = in_a_row(tmp_path / "home", {"all": 0.2, "some": 0.6})
    hall.clock.sleep(20)
    busy = watch(hall, quality, 10, 1000)
    assert min(busy) == 0.8
    assert keeper(hall, SECOND).keep == 0.5  # 0.8 of 0.5 is what the second may be left
    watch(hall, quality, 20, 10)
    assert (keeper(hall).keep, keeper(hall, SECOND).keep) == (1.0, 1.0)


def test_behind_a_query_that_wants_all_only_the_second_gate_shuts(tmp_path: Path) -> None:
    hall, quality = in_a_row(tmp_path / "home", {"all": 0.0, "some": 0.6})
    hall.clock.sleep(20)
    assert set(watch(hall, quality, 10, 1000)) == {1.0}
    assert keeper(hall, SECOND).keep == 0.4


def test_a_reader_that_allows_less_than_what_it_reads_holds_the_first_gate(tmp_path: Path) -> None:
    hall, quality = in_a_row(tmp_path / "home", {"all": 0.6, "some": 0.1})
    hall.clock.sleep(20)
    assert min(watch(hall, quality, 10, 1000)) == 0.9
    assert keeper(hall, SECOND).keep == 1.0


def burst_in_a_row(hall: Hall, errors: tuple[float, float], rows: list[int]) -> list[float]:
    """Let a burst through two gates in a row, and return the least that each has kept."""
    for name, root, error in zip(("all", "some"), (TELLING, chained(SECOND)), errors, strict=True):
        hall.add(name, root).promise = Promise.of(Goals(max_error=error))
    for at in range(20):
        many = 1_000 * 4 ** (at % 4)
        for each in (TELLING, chained(SECOND)):
            hall.dispatcher.statistics.ran(key(each), many, many, many * 1e-3, float(at))
    hall.dispatcher.run_queue.shedding_controller.look([gate_of(hall), gate_of(hall, SECOND)])
    for each in rows:
        begin = len(hall.pushed["s"])
        hall.push("s", *range(begin, begin + each))
        hall.take_in()
    hall.drain()
    runs = (hall.journal.runs_after(gate_of(hall, each).reader, 0) for each in (GATE, SECOND))
    return [min((keep for run in each for keep in run.keeps), default=1.0) for each in runs]


ERRORS = st.sampled_from([0.0, 0.1, 0.3, 0.6, 0.9])


@given(st.lists(st.integers(1, 30_000), min_size=1, max_size=4), ERRORS, ERRORS, st.booleans())
@settings(max_examples=examples(40))
def test_in_a_burst_gates_in_a_row_stay_within_every_error(
    rows: list[int], first: float, second: float, has_exact_reader: bool
) -> None:
    with tempfile.TemporaryDirectory() as home:
        hall = Hall(Path(home) / "home")
        if has_exact_reader:
            hall.add("exact", Filter(TELLING, ("x = x",)))
        hall.add("told", SECOND).promise = Promise.of(Goals(max_error=second))
        kept = burst_in_a_row(hall, (first, second), rows)
        assert kept[0] >= (1.0 if has_exact_reader else 1 - min(first, second)) - 1e-9
        left = [t[KEPT].to_numpy() for t in hall.sinks["told"].deliveries.values() if t.num_rows]
        assert min(each.min() for each in left) >= 1e6 * (1 - second) - 1  # by both together


def test_in_a_burst_the_second_gate_drops_what_the_first_may_not(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    assert burst_in_a_row(hall, (0.1, 0.5), [30_000]) == [0.9, 0.56]
