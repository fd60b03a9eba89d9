"""Runs are no longer than what was promised to those who wait for them."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from penstock.model.goals import Goals
from penstock.plan.operators import Gate, key
from penstock.runtime.quality.run_lengths import (
    AT_FIRST,
    FEWEST,
    KNOWN_RUNS,
    LatencyShare,
    next_length,
    run_lengths,
    shares,
)
from penstock.runtime.work.promise import Promise
from penstock.runtime.work.run_limits import RUN_LIMITS
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import Hall, chain, scan

COST = 0.001


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def promised(seconds: float) -> Promise | None:
    return Promise.of(Goals(max_latency=timedelta(seconds=seconds)))


def known(hall: Hall, *names: str) -> None:
    """Let units be known to cost a millisecond for each tuple."""
    for name in names:
        for number in range(6):
            rows = 10 * (1 + number % 3)
            hall.dispatcher.statistics.ran(name, rows, rows, COST * rows, hall.clock.now())


def test_the_shortest_latency_behind_a_unit_counts_and_units_in_a_row_share_it(
    tmp_path: Path,
) -> None:
    hall = Hall(tmp_path / "home")
    hall.add("a", chain("s", "x")).promise = promised(4.0)
    hall.add("b", chain("s", "xy")).promise = promised(2.0)
    hall.add("c", chain("s", "z"))
    shared, own = key(chain("s", "x")), key(chain("s", "xy"))
    assert shares(hall.topology) == {shared: LatencyShare(0.5, 1.0), own: LatencyShare(0.5, 2.0)}
    lengths = run_lengths(hall.topology, hall.dispatcher.statistics)
    other = key(chain("s", "z"))  # promised nothing, and it must not take a slot for long
    assert lengths == {shared: AT_FIRST, own: AT_FIRST, other: AT_FIRST}
    known(hall, shared)
    assert (
        run_lengths(hall.topology, hall.dispatcher.statistics) == lengths
    )  # small runs tell nothing


@pytest.mark.parametrize(
    ("rows", "seconds", "then"),
    [
        (20_000, 0.5, 40_000),  # half of its time: twice as long
        (20_000, 0.1, 40_000),  # and not more than that at once
        (20_000, 1.25, 16_000),
        (20_000, 100.0, AT_FIRST),
        (9_000, 0.1, 20_000),  # there were no more: nothing is known of a full one
    ],
)
def test_a_run_is_longer_or_shorter_than_the_last_by_what_it_took(
    rows: int, seconds: float, then: int
) -> None:
    assert next_length(20_000, rows, seconds, share=1.0) == then


def test_a_gate_takes_no_share_of_the_time(tmp_path: Path) -> None:
    hall, gate = Hall(tmp_path / "home"), Gate(scan("s"), 0.5)
    hall.add("a", gate).promise = promised(3.0)
    assert shares(hall.topology) == {key(gate): LatencyShare(1.5, 3.0)}


def test_what_has_piled_up_is_taken_in_runs_that_are_short_enough(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    hall.add("a", chain("s", "x")).promise = promised(0.05)
    hall.dispatcher.run_queue.lengths = {key(chain("s", "x")): 25}
    for number in range(10):
        hall.push("s", *range(10 * number, 10 * number + 10))
    for _ in range(10):
        hall.take_in()
    hall.drain()
    assert [len(rows) for _, rows in hall.processor.runs] == [20] * 5
    assert hall.delivered("a") == list(range(100))


def ran(hall: Hall, unit: str, rows: int, seconds: float) -> None:
    hall.topology.units[unit].runs += 1
    hall.dispatcher.statistics.ran(unit, rows, rows, seconds, hall.clock.now())
    hall.dispatcher.statistics.lengths = run_lengths(hall.topology, hall.dispatcher.statistics)


def test_a_dear_unit_takes_a_second_at_a_time_where_others_want_its_slot(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    hall.add("dear", chain("s", "x"))
    hall.add("cheap", chain("s", "z"))
    dear, cheap = key(chain("s", "x")), key(chain("s", "z"))
    for _ in range(KNOWN_RUNS + 1):
        ran(hall, cheap, 100_000, 0.1)
        ran(hall, dear, 8_000, 16.0)
    assert hall.dispatcher.statistics.lengths == {dear: 1_000}  # an eighth, and not less at once
    taken = 1_000
    for _ in range(9):
        ran(hall, dear, taken, taken * 0.002)
        taken = hall.dispatcher.statistics.lengths[dear]
    assert taken == pytest.approx(FEWEST, abs=1)
    while dear in hall.dispatcher.statistics.lengths:  # it has become cheap
        taken = hall.dispatcher.statistics.lengths[dear]
        ran(hall, dear, taken, taken * 1e-7)
    assert taken * 2 >= RUN_LIMITS.aggregate_rows


def test_where_somebody_was_promised_a_latency_no_first_run_of_others_takes_all_of_a_flood(
    tmp_path: Path,
) -> None:
    hall = Hall(tmp_path / "home")
    hall.add("dear", chain("s", "x"))
    hall.add("prompt", chain("s", "z")).promise = promised(4.0)
    dear, statistics = key(chain("s", "x")), hall.dispatcher.statistics
    statistics.lengths = run_lengths(hall.topology, statistics)
    assert statistics.lengths[dear] == AT_FIRST
    ran(hall, dear, AT_FIRST, 40.0)  # of a hall that knows nothing yet: the longest that there is
    ran(hall, dear, statistics.lengths[dear], statistics.lengths[dear] * 0.004)
    assert statistics.lengths[dear] == FEWEST


def test_a_unit_alone_takes_all_that_waits_however_dear_it_is(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    hall.add("dear", chain("s", "x"))
    for _ in range(KNOWN_RUNS + 1):
        ran(hall, key(chain("s", "x")), 8_000, 16.0)
    assert hall.dispatcher.statistics.lengths == {}
