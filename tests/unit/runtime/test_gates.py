"""Gates in a plant that dies: what was dropped stays dropped, and the rest knows its weight."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

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


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def gate_of(hall: Hall) -> LiveUnit:
    return hall.plant.units[key(GATE)]


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
    )
)
@settings(max_examples=60)
def test_a_replay_drops_the_same_tuples(actions: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as home:
        hall = Hall(Path(home) / "home")
        hall.add("a", GATE)
        pushed = 0
        for action, number in actions:
            if action == "push":
                hall.push("s", *range(pushed, pushed + number))
                pushed += number
            elif action == "keep":
                gate_of(hall).keep = number / 10
            else:
                hall.do(action)
        hall.drain()
        once = hall.delivered("a")
        assert once == sorted(set(once))  # nothing twice, nothing out of turn
        kept = {run.number: run.keep for run in hall.journal.runs_after(gate_of(hall).reader, 0)}
        assert all(0.1 <= each <= 1 for each in kept.values())
        hall.die()
        hall.drain()
        assert hall.delivered("a") == once


def loaded(home: Path, goals: Goals, cost: float) -> tuple[Hall, Quality]:
    """Return a hall whose tuples cost so many seconds behind the gate, and what looks at it."""
    hall, statistics = Hall(home), Statistics()
    query = hall.add("a", GATE)
    query.promise = Promise.of(goals)
    for second in range(20):
        rows = 100 * (1 + second % 3)  # alike they would not tell what a run costs by itself
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
