"""Modifiers in a SELECT: where they may stand, and what they promise."""

import pytest

from penstock.errors import BadQueryError, UnknownColumnError
from penstock.plan.operators import EventTime, Filter, Modify, Operator, Ordered, key, walk
from penstock.plan.operators.lateness import judges
from penstock.plan.operators.tuples.modify import NEW, OLD
from tests.unit.plan.twin import TRAFFIC, World, bind


def modify(select: str) -> Modify:
    found = bind(select)
    assert isinstance(found, Modify)
    return found


def test_a_modifier_reads_the_stream_in_order() -> None:
    found = modify("SELECT car_id, adiff(mph) AS d FROM traffic")
    assert found.input == Ordered(TRAFFIC, "time")
    assert found.schema.names == ("car_id", "d")
    assert found.used == ("ts", "car_id", "mph")
    assert found.keys == ()


def test_where_chooses_the_tuples_that_follow_one_another() -> None:
    found = modify("SELECT adiff(mph) AS d FROM traffic WHERE mph > 3 AND kind = 'car'")
    assert isinstance(found.input, Filter)
    assert isinstance(found.input.input, Ordered)


def test_the_order_is_shared() -> None:
    world = World()
    one = world.bind("SELECT adiff(mph) AS d FROM traffic WHERE mph > 3")
    two = world.bind("SELECT rdiff(mph) AS d FROM traffic")
    assert key(ordered(one)) == key(ordered(two))


def ordered(root: Operator) -> Operator:
    return next(node for node in walk(root) if isinstance(node, Ordered))


def test_the_late_tuples_are_those_of_the_order() -> None:
    root = bind("SELECT adiff(mph) AS d FROM traffic WHERE mph > 3")
    assert judges(root) == (ordered(root),)
    assert judges(TRAFFIC) == ()


def test_the_new_time_is_event_time() -> None:
    assert modify("SELECT ts AS at, adiff(mph) AS d FROM traffic").times == (EventTime("at"),)
    assert modify("SELECT adiff(mph) AS d FROM traffic").times == ()


def test_the_old_time_is_event_time_only_of_the_whole_stream() -> None:
    old = "SELECT ts, adiff(mph, profile => 'O')"
    assert modify(f"{old} AS d FROM traffic").times == (EventTime("ts"),)
    assert modify(f"{old} OVER (PARTITION BY kind) AS d FROM traffic").times == ()


def test_the_profile_tells_whose_values_the_other_columns_are() -> None:
    new = modify("SELECT car_id, adiff(mph) AS d FROM traffic")
    old = modify("SELECT car_id, adiff(mph, profile => 'O') AS d FROM traffic")
    assert new.columns[0] == ("car_id", f"{NEW}.`car_id`")
    assert old.columns[0] == ("car_id", f"{OLD}.`car_id`")


def test_a_name_of_the_select_may_be_used_behind_it() -> None:
    found = modify("SELECT adiff(mph) AS d, d * 2 AS twice FROM traffic")
    assert found.columns[1] == ("twice", "d * 2")
    with pytest.raises(UnknownColumnError):
        bind("SELECT mph * 2 AS twice, adiff(twice) AS d FROM traffic")


def test_equal_partitions_are_one_in_any_order() -> None:
    over = "OVER (PARTITION BY kind, car_id)", "OVER (PARTITION BY traffic.car_id, kind)"
    found = modify(f"SELECT adiff(mph) {over[0]} AS a, rdiff(mph) {over[1]} AS b FROM traffic")
    assert found.keys == ("`car_id`", "`kind`")


@pytest.mark.parametrize(
    "select",
    [
        "SELECT adiff(mph) OVER (PARTITION BY kind) AS a, adiff(mph) AS b FROM traffic",
        "SELECT adiff(mph, profile => 'O') AS a, adiff(mph) AS b FROM traffic",
        "SELECT mph FROM traffic WHERE adiff(mph) > 3",
        "SELECT sum(adiff(mph)) AS s FROM traffic [RANGE 1 SECOND]",
        "SELECT adiff(mph) AS d, count(*) AS n FROM traffic [RANGE 1 SECOND]",
        "SELECT adiff(sum(mph)) AS d FROM traffic [RANGE 1 SECOND]",
        "SELECT kind, adiff(mph) AS d FROM traffic [RANGE 1 SECOND] GROUP BY kind",
        "SELECT adiff(adiff(mph)) AS d FROM traffic",
        "SELECT adiff(mph) AS d FROM traffic [RANGE 1 SECOND]",
        "SELECT adiff(mph) AS d, mph AS D FROM traffic",
        "SELECT adiff(mph) AS d, max(mph) OVER (PARTITION BY kind) AS m FROM traffic",
    ],
)
def test_what_makes_no_sense_is_refused(select: str) -> None:
    with pytest.raises(BadQueryError):
        bind(select)


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(UnknownColumnError):
        bind("SELECT adiff(speed) AS d FROM traffic")
    with pytest.raises(UnknownColumnError):
        bind("SELECT adiff(mph) OVER (PARTITION BY nothing) AS d FROM traffic")
