"""Gates in a plant that dies: what was dropped stays dropped, and the rest knows its weight."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.goals import Goals
from penstock.plan.operators import Gate, key
from penstock.plan.operators.gate import KEPT
from penstock.runtime.live_unit import LiveUnit
from penstock.runtime.promise import Promise
from penstock.runtime.quality import Quality
from penstock.runtime.statistics import Statistics
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import Hall, scan

GATE = Gate(scan("s"), 0.5)
BY_WORTH = Gate(scan("s"), 0.9, "`n`")


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def gate_of(hall: Hall, gate: Gate = GATE) -> LiveUnit:
    return hall.plant.units[key(gate)]


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
    gate_of(hall).keep = 0.25
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
@settings(max_examples=120)
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
                gate_of(hall, gate).keep = number / 10
            else:
                hall.do(action)
        hall.drain()
        once = hall.delivered("a")
        assert once == sorted(set(once))  # nothing twice, nothing out of turn
        runs = hall.journal.runs_after(gate_of(hall, gate).reader, 0)
        kept = {run.number: run.keep for run in runs}
        assert all(0.1 <= each <= 1 for each in kept.values())
        hall.die()
        hall.drain()
        assert hall.delivered("a") == once


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
    gate_of(hall, BY_WORTH).keep = 0.25
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
    gate_of(hall, BY_WORTH).keep = 0.5
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
    return hall, Quality(hall.plant, statistics, slots=1)


def watch(hall: Hall, quality: Quality, seconds: int, rows: int) -> list[float]:
    """Let so many rows come each second, look twice a second, and return what the gate kept."""
    kept = []
    for _ in range(2 * seconds):
        first = len(hall.pushed["s"])
        hall.push("s", *range(first, first + rows // 2))
        hall.take_in()
        hall.clock.sleep(0.5)
        quality.look(lambda: hall.plant.graph, hall.clock.now())
        kept.append(gate_of(hall).keep)
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
        quality.look(lambda: hall.plant.graph, hall.clock.now())
        assert gate_of(hall).keep == 1.0
    flood = watch(hall, quality, 6, 800)
    assert min(flood[:4]) < 1.0
    assert min(flood) == 0.5
    assert watch(hall, quality, 20, 20)[-1] == 1.0
