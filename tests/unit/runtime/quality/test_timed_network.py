"""What a network is told of what was timed, and of nodes that have not run yet."""

import math
from datetime import timedelta
from pathlib import Path

import pytest

from penstock.model.schema import Column, Schema
from penstock.model.trains import TrainInfo
from penstock.plan.operators import (
    EventTime,
    Filter,
    Operator,
    SessionAggregate,
    WindowAggregate,
    key,
)
from penstock.plan.operators.windows.window_assigner import spans
from penstock.plan.sharing.units import Unit
from penstock.qos.load.estimates import TrainSize, corrections_of, estimated
from penstock.qos.load.network import Network, NetworkNode
from penstock.runtime.quality.timed_network import timed, train_sizes, work_seconds
from penstock.runtime.quality.timings import Timings
from penstock.schedule.costs.work import Crossing
from tests.unit.model.hall import Hall, scan

SECOND = 1_000_000
S = scan("s")
BOUNDS = Schema((Column("window_start", "timestamp"), Column("window_end", "timestamp")))
FILTER = Filter(S, ("n > 1",))
COUNTED = WindowAggregate(S, EventTime("ts"), spans(SECOND, SECOND), (), (), BOUNDS)
SESSIONS = SessionAggregate(S, EventTime("ts"), 3 * SECOND, (), (), BOUNDS)
OVER = WindowAggregate(
    COUNTED, EventTime("window_end"), spans(5 * SECOND, 5 * SECOND), (), (), BOUNDS
)
SLACK = timedelta(seconds=2)
RATE = 50.0


def train(rows: int, arrived: float, ready: float) -> TrainInfo:
    return TrainInfo(1, rows, 0, arrived, None, None, 0, answerable=ready)


def network(*roots: Operator) -> tuple[Network, dict[str, Unit]]:
    """Return units of one operator each, where a tuple costs 2 ms and a run 5."""
    inputs = {key(root): tuple(map(key, root.inputs)) for root in roots}
    nodes = {
        name: NetworkNode({below: Crossing(0.002, 1.0) for below in each}, setup=0.005)
        for name, each in inputs.items()
    }
    units = {key(root): Unit(root, root.inputs, None if root is FILTER else root) for root in roots}
    queries = {f"q{place}": key(root) for place, root in enumerate(roots)}
    return Network(nodes, {key(S): RATE}, queries), units


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    return Hall(tmp_path / "home", clauses={"slack": SLACK})


@pytest.mark.parametrize(("root", "seconds"), [(FILTER, 0.0), (COUNTED, 2.02), (SESSIONS, 5.02)])
def test_windows_are_held_by_the_slack_until_the_next_tuple(
    hall: Hall, root: Operator, seconds: float
) -> None:
    plain, units = network(root)
    found = timed(plain, units, hall.topology, Timings(), 10.0)
    assert math.isclose(found.nodes[key(root)].held, seconds)


def test_windows_over_windows_wait_for_the_slack_once(hall: Hall) -> None:
    plain, units = network(COUNTED, OVER)
    found = timed(plain, units, hall.topology, Timings(), 10.0)
    assert [node.held for node in found.nodes.values()] == [2.02, 0.0]
    assert math.isclose(estimated(found).held["q1"], 2.02)


def test_what_was_timed_goes_before_what_is_told(hall: Hall) -> None:
    plain, units = network(COUNTED, FILTER)
    timings = Timings()
    for second in range(1, 40):
        timings.worked(key(S), 0.01, second)
        timings.worked(key(COUNTED), 0.25, second)
        timings.appended(key(S), [train(50, second - 0.1, second - 0.1)], second)
        timings.appended(key(COUNTED), [train(5, second - 3.0, second - 0.4)], second)
        timings.appended(key(COUNTED), [train(0, second - 9.0, second - 9.0)], second)
    found = timed(plain, units, hall.topology, timings, 39.0)
    assert math.isclose(found.nodes[key(COUNTED)].busy, 0.25, rel_tol=0.1)
    assert math.isclose(found.nodes[key(COUNTED)].held, 2.6)
    new = found.nodes[key(FILTER)].busy  # the tuples' 0.1, and a run for each train
    assert math.isclose(new, 0.105, rel_tol=0.05)
    work = work_seconds(found, timings)
    assert work.keys() == {key(COUNTED)}
    assert math.isclose(work[key(COUNTED)], 0.3)


def test_of_a_query_that_runs_the_estimate_is_what_was_measured(hall: Hall) -> None:
    plain, units = network(COUNTED)
    timings = Timings()
    for second in range(1, 40):
        timings.appended(key(S), [train(50, second - 0.1, second - 0.1)], second)
        timings.appended(key(COUNTED), [train(5, second - 3.0, second - 0.4)], second)
    found = timed(plain, units, hall.topology, timings, 39.0)
    trains = train_sizes(found, hall.topology, timings)
    assert trains == {key(S): TrainSize(1.0, lag=pytest.approx(0.1))}
    right = corrections_of(found, trains, work_seconds(found, timings))
    told = estimated(found, trains, right)
    assert math.isclose(told.latency["q0"], 3.0)
    assert math.isclose(told.delay("q0"), 0.4)


def test_of_units_that_are_gone_nothing_is_kept() -> None:
    timings = Timings()
    for name in ("a", "b"):
        timings.worked(name, 1.0, 2.0)
        timings.appended(name, [train(1, 1.0, 1.0)], 2.0)
    timings.forget_all_but({"b"})
    assert timings.share("a", 3.0) == 0.0 < timings.share("b", 3.0)
    assert timings.age("a").delay.weight == 0.0 < timings.age("b").delay.weight
