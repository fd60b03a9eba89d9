"""ROLLUP, CUBE and GROUPING SETS: which sets they stand for, and what is kept of them."""

import pytest

from penstock.errors import BadQueryError
from penstock.model.own_names import readable
from penstock.plan.operators import (
    KeyedRows,
    Operator,
    Project,
    SessionAggregate,
    WhenAggregate,
    WindowAggregate,
)
from penstock.plan.operators.bundles.member import member_of
from penstock.plan.operators.windows.grouping_sets import SET
from penstock.plan.operators.windows.sets_aggregate import SetsAggregate
from penstock.plan.sharing.units import cut_at_shared
from penstock.plan.windows.grouping import MAX_SETS, Grouping, grouping_of
from penstock.sql import parse_select, spark_sql
from tests.unit.plan.twin import World, bind

MINUTE = "traffic [RANGE 1 MINUTE]"


def grouping(text: str) -> Grouping:
    return grouping_of(parse_select(f"SELECT 1 FROM s GROUP BY {text}").args["group"], spark_sql)


def sets(text: str) -> list[str]:
    return ["".join(sorted(each)) for each in grouping(text).sets]


def shown(select: str) -> dict[str, str]:
    root = bind(select)
    assert isinstance(root, Project)
    return {name: readable(sql) for name, sql in root.columns}


def below(root: Operator) -> Operator:
    while isinstance(root, Project):
        root = root.input
    return root


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a, b", ["ab"]),
        ("ROLLUP (a, b)", ["ab", "a", ""]),
        ("a, b WITH ROLLUP", ["ab", "a", ""]),
        ("CUBE (a, b)", ["ab", "a", "b", ""]),
        ("a, b WITH CUBE", ["ab", "a", "b", ""]),
        ("ROLLUP (a, (b, c))", ["abc", "a", ""]),
        ("CUBE ((a, b), c)", ["abc", "ab", "c", ""]),
        ("GROUPING SETS ((a, b), a, (b), ())", ["ab", "a", "b", ""]),
        ("GROUPING SETS (a, a)", ["a", "a"]),
        (
            "GROUPING SETS (ROLLUP (a, b), CUBE (c), GROUPING SETS (d))",
            ["ab", "a", "c", "d"] + [""] * 2,
        ),
        ("a, ROLLUP (b, c)", ["abc", "ab", "a"]),
        ("ROLLUP (a), CUBE (b)", ["ab", "a", "b", ""]),
        ("a, GROUPING SETS ((a, b), a, ())", ["ab", "a", "a"]),
        ("a, b GROUPING SETS ((b), (a))", ["a", "b"]),
    ],
)
def test_each_form_stands_for_its_sets(text: str, expected: list[str]) -> None:
    assert sets(text) == expected


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("GROUPING SETS ((b), (a, b))", ("b", "a")),
        ("a, b GROUPING SETS ((b), (a))", ("a", "b")),
        ("c, ROLLUP (b, a)", ("c", "b", "a")),
        ("ROLLUP (b, (d, a)), c", ("b", "d", "a", "c")),
        ("GROUPING SETS (CUBE (c, b), a), d", ("c", "b", "a", "d")),
        ("b, a WITH CUBE", ("b", "a")),
    ],
)
def test_keys_stand_in_the_order_of_the_text(text: str, keys: tuple[str, ...]) -> None:
    assert grouping(text).keys == keys


def test_there_is_an_end_to_the_sets() -> None:
    eight = ", ".join(f"c{n}" for n in range(8))
    assert len(sets(f"CUBE ({eight})")) == MAX_SETS
    for text in (
        f"CUBE ({eight}, x)",
        ", ".join([f"CUBE ({eight})"] * 9),
        f"CUBE ({eight}), CUBE (x)",
    ):
        with pytest.raises(BadQueryError, match="256"):
            grouping(text)


def test_keys_that_every_set_has_stay_as_they_are() -> None:
    root = below(bind(f"SELECT kind, count(*) AS n FROM {MINUTE} GROUP BY kind, ROLLUP (car_id)"))
    assert isinstance(root, SetsAggregate)
    assert [sql for _, sql in root.keys] == [
        f"CASE WHEN {SET} IN (0) THEN `car_id` END",
        SET,
        "`kind`",
    ]
    assert root.sets == 2


def test_one_set_needs_no_tuple_twice() -> None:
    plain = bind(f"SELECT kind, count(*) AS n FROM {MINUTE} GROUP BY kind")
    assert bind(f"SELECT kind, count(*) AS n FROM {MINUTE} GROUP BY GROUPING SETS (kind)") == plain
    assert (
        bind(
            f"SELECT kind, count(*) AS n FROM {MINUTE} GROUP BY GROUPING SETS ((kind, window_end))"
        )
        == plain
    )


def test_a_key_of_no_set_is_null() -> None:
    select = f"SELECT kind, car_id FROM {MINUTE} GROUP BY kind, car_id GROUPING SETS ((kind))"
    aggregate = below(bind(select))
    assert isinstance(aggregate, WindowAggregate)
    assert [sql for _, sql in aggregate.keys] == ["CASE WHEN FALSE THEN `car_id` END", "`kind`"]


def test_the_order_of_sets_makes_no_difference() -> None:
    select = f"SELECT kind, car_id, count(*) AS n FROM {MINUTE} GROUP BY"
    rolled = bind(f"{select} ROLLUP (kind, car_id)")
    assert bind(f"{select} GROUPING SETS ((), (kind), (car_id, kind))") == rolled
    assert bind(f"{select} kind, car_id WITH ROLLUP") == rolled
    assert bind(f"{select} ROLLUP (1, 2)") == rolled
    assert bind(f"{select} ROLLUP (car_id, kind)") != rolled


def test_grouping_tells_the_keys_that_a_row_has_not() -> None:
    group = "GROUP BY CUBE (kind, car_id)"  # sorted: both, car_id, kind, none
    assert shown(
        f"SELECT grouping(kind) AS a, GROUPING(car_id) AS b, grouping_id() AS c, "
        f"grouping_id(car_id, kind) AS d FROM {MINUTE} {group}"
    ) == {
        "a": "CAST(element_at(array(0, 1, 0, 1), `k2` + 1) AS TINYINT)",
        "b": "CAST(element_at(array(0, 0, 1, 1), `k2` + 1) AS TINYINT)",
        "c": "CAST(element_at(array(0, 2, 1, 3), `k2` + 1) AS BIGINT)",
        "d": "CAST(element_at(array(0, 1, 2, 3), `k2` + 1) AS BIGINT)",
    }
    assert shown(f"SELECT grouping(kind) AS g FROM {MINUTE} GROUP BY GROUPING SETS (kind)") == {
        "g": "CAST(0 AS TINYINT)"
    }


def test_having_may_ask_for_the_set() -> None:
    root = bind(f"SELECT kind FROM {MINUTE} GROUP BY ROLLUP (kind) HAVING grouping(kind) = 1")
    assert "element_at(array(0, 1)" in root.inputs[0].text()


def test_aggregates_see_the_keys_own_values() -> None:
    root = below(bind(f"SELECT kind, max(kind) AS m FROM {MINUTE} GROUP BY ROLLUP (kind)"))
    assert isinstance(root, SetsAggregate)
    assert [each.text for _, each in root.aggregates] == ["MAX(`kind`)"]


@pytest.mark.parametrize(
    ("window", "kind"),
    [
        ("RANGE 1 MINUTE SLIDE 10 SECONDS", SetsAggregate),
        ("ROWS 10", SetsAggregate),
        ("LANDMARK FROM 1 EVERY 10", SetsAggregate),
        ("SESSION GAP 1 MINUTE", SessionAggregate),
        ("PARTITION BY kind ROWS 3", KeyedRows),
        ("WHEN count(*) = 3", WhenAggregate),
    ],
)
def test_every_window_has_sets(window: str, kind: type[Operator]) -> None:
    select = f"SELECT kind, count(*) AS n, median(mph) AS m FROM traffic [{window}] GROUP BY"
    rolled, cubed = (
        below(bind(f"{select} GROUPING SETS ({each})")) for each in ("kind, ()", "kind, (), ()")
    )
    assert isinstance(rolled, kind)
    assert rolled.text() != cubed.text()
    assert "2 grouping sets" in rolled.text()


def test_tuples_are_spread_above_what_is_late_or_kept() -> None:
    world = World()
    world.name("sums", f"SELECT kind, sum(mph) AS n FROM {MINUTE} GROUP BY ROLLUP (kind)")
    world.name("middles", f"SELECT kind, median(mph) AS n FROM {MINUTE} GROUP BY ROLLUP (kind)")
    views = dict.fromkeys(cut_at_shared(world.graph)[0].inputs, "v")
    sums, middles = cut_at_shared(world.graph)
    assert "explode(array(0, 1))" not in sums.rows_sql(views) + middles.pane_sql(views)
    assert "explode(array(0, 1))" in sums.pane_sql(views)
    assert "explode(array(0, 1))" in middles.close_sql("parts", (0, 0))


def test_sets_run_by_themselves() -> None:
    select = f"SELECT kind, count(*) AS n FROM {MINUTE} GROUP BY"
    assert member_of(bind(f"{select} kind")) is not None
    assert member_of(bind(f"{select} ROLLUP (kind)")) is None
