"""Joins of streams, bound: what bounds them, what they keep, what they promise."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadQueryError, PenstockError
from penstock.model.own_names import readable
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import (
    EventTime,
    Filter,
    HopJoin,
    Operator,
    Project,
    RowsJoin,
    TableJoin,
    WindowJoin,
    walk,
)
from penstock.plan.operators.joins.window_join import KINDS, JoinSide
from penstock.plan.select.bind import Binder
from penstock.sql import parse_select
from tests.unit.plan.twin import SOUTH, TRAFFIC, World, bind

SECOND = 1_000_000
ONE = "[RANGE 1 MINUTE]"


def the_join(root: Operator) -> WindowJoin:
    found = [node for node in walk(root) if isinstance(node, WindowJoin)]
    return found[-1]


def test_only_columns_that_the_select_may_mean_are_kept() -> None:
    root = bind(f"SELECT t.mph FROM traffic {ONE} t JOIN south {ONE} s ON t.car_id = s.id")
    left, right = the_join(root).sides
    assert [name for name, _ in left.columns] == ["ts", "car_id", "mph"]
    assert right.columns == (("at", "at"), ("id", "id"), ("mph", "r_mph"))


def test_a_star_keeps_everything_and_hides_what_joins_carry() -> None:
    root = bind(
        f"SELECT a.*, b.id AS b, c.id AS c FROM traffic {ONE} a "
        f"JOIN south {ONE} b ON a.car_id = b.id JOIN south {ONE} c ON b.id = c.id"
    )
    assert root.schema.names == (*TRAFFIC.schema.names, "b", "c")
    assert the_join(root).sides[0].carries
    assert not the_join(root).carry


def test_conditions_of_where_go_where_they_save_most() -> None:
    root = bind(
        f"SELECT t.mph FROM traffic {ONE} t, south {ONE} s, roads r "
        "WHERE t.car_id = s.id AND t.kind = 'Car' AND s.mph = r.mph AND t.mph > 3 * s.mph"
    )
    join = the_join(root)
    assert isinstance(join.left, Filter)
    assert join.left.conditions == ("`kind` = 'Car'",)
    assert readable(join.on) == "(l.`car_id` = r.`id`) AND (l.`mph` > 3 * r.`r_mph`)"
    assert isinstance(root, Project)
    assert isinstance(root.input, Filter)
    assert isinstance(root.input.input, TableJoin)
    assert root.input.conditions == ("`r_mph` = `roads_mph`",)


def test_where_above_an_outer_join_stays_there() -> None:
    root = bind(
        f"SELECT t.mph FROM traffic {ONE} t LEFT JOIN south {ONE} s ON t.car_id = s.id "
        "WHERE t.kind = 'Car' AND t.mph = s.mph"
    )
    assert isinstance(root, Project)
    assert isinstance(root.input, Filter)
    assert root.input.input == the_join(root)


def test_using_makes_two_columns_one() -> None:
    world = World()
    world.name("other", "SELECT ts, car_id, mph FROM traffic")
    root = world.bind(f"SELECT * FROM traffic {ONE} a JOIN other {ONE} b USING (car_id, ts, mph)")
    keys = ("car_id", "ts", "mph")  # first, in their order, as in Spark
    assert root.schema.names == (*keys, *(n for n in TRAFFIC.schema.names if n not in keys))
    root = world.bind(
        f"SELECT car_id FROM traffic {ONE} a JOIN other {ONE} b USING (car_id) "
        f"JOIN other {ONE} c USING (car_id) WHERE car_id <> 'x'"
    )
    assert root.schema.names == ("car_id",)


def test_equal_event_times_bound_a_join_without_windows() -> None:
    world = World()
    for name in ("a", "b", "c"):
        world.name(
            name,
            "SELECT window_start, window_end, kind, count(*) AS n "
            "FROM traffic [RANGE 1 MINUTE] GROUP BY kind",
        )
    root = world.bind("SELECT a.window_start, a.n FROM a JOIN b ON a.window_start = b.window_start")
    assert [side.width for side in the_join(root).sides] == [0, 0]
    assert root.times == (EventTime("window_start"),)
    by_end = world.bind("SELECT a.n FROM a JOIN b ON b.window_end = a.window_end AND a.n < b.n")
    assert [side.time.column for side in the_join(by_end).sides] == ["window_end"] * 2
    three = world.bind(
        "SELECT a.n FROM a JOIN b ON a.window_start = b.window_start "
        "JOIN c ON c.window_start = b.window_start"
    )
    assert "l.met = r.met" in readable(the_join(three).meets)


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT t.mph FROM traffic {ONE} t JOIN south s ON t.car_id = s.id",
        f"SELECT t.mph FROM traffic t JOIN south {ONE} s ON t.car_id = s.id",
        "SELECT t.mph FROM traffic [ROWS 5] t JOIN south s ON t.car_id = s.id",
        "SELECT t.mph FROM traffic t JOIN south s ON t.car_id = s.id",
        "SELECT t.mph FROM traffic t, south s",
        f"SELECT t.mph FROM traffic {ONE} t JOIN sensors {ONE} s ON t.car_id = s.car_id",
        f"SELECT mph FROM traffic {ONE} t JOIN traffic {ONE} t ON true",
        f"SELECT count(*) AS n FROM traffic {ONE} t JOIN south {ONE} s ON t.car_id = s.id",
        f"SELECT t.mph FROM traffic {ONE} t JOIN roads {ONE} r ON t.mph = r.mph",
        f"SELECT t.mph FROM traffic [SESSION GAP 1 MINUTE] t JOIN south {ONE} s ON t.car_id = s.id",
        f"SELECT t.mph FROM traffic [RANGE 2 MINUTES SLIDE 1 MINUTE] t "
        f"JOIN south {ONE} s ON t.car_id = s.id",
    ],
)
def test_what_bounds_no_join_is_refused_with_a_hint(sql: str) -> None:
    with pytest.raises(BadQueryError) as raised:
        bind(sql)
    assert raised.value.code == "BAD_QUERY"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT t.mph FROM traffic {ONE} t ASOF JOIN south {ONE} s ON t.ts >= s.at",
        "SELECT t.mph FROM traffic [PARTITION BY kind ROWS 5] t "
        "JOIN south [ROWS 5] s ON t.car_id = s.id",
        "SELECT t.mph FROM traffic [ROWS 5 SLIDE 2] t JOIN south [ROWS 5] s ON t.car_id = s.id",
        "SELECT t.mph FROM traffic [ROWS 5] t LEFT JOIN south [ROWS 5] s ON t.car_id = s.id "
        "RIGHT JOIN south [ROWS 5] u ON t.car_id = u.id",
        "SELECT t.mph FROM traffic [ROWS 5] t FULL JOIN south [ROWS 5] s ON t.car_id = s.id "
        "JOIN south [ROWS 5] u ON t.car_id = u.id",
        "SELECT t.mph FROM traffic [ROWS 5] t LEFT JOIN roads r ON t.mph = r.mph "
        "LEFT JOIN south [ROWS 5] u ON t.car_id = u.id",
    ],
)
def test_a_join_that_has_no_meaning_or_bound_is_refused(sql: str) -> None:
    with pytest.raises(BadQueryError) as raised:
        bind(sql)
    assert raised.value.hint


@pytest.mark.parametrize("kind", ["LEFT", "LEFT SEMI", "LEFT ANTI", ""])
def test_rows_of_three_wait_for_the_first_streams_tuple_where_one_is_preserved(kind: str) -> None:
    root = bind(
        f"SELECT t.mph, u.at FROM traffic {ONE} t {kind} JOIN south [ROWS 5] s ON t.car_id = s.id "
        "LEFT JOIN south [ROWS 3] u ON t.car_id = u.id"
    )
    (join,) = (node for node in walk(root) if isinstance(node, RowsJoin))
    assert join.waits
    assert join.preserved == (0,)
    assert [time.column for time in join.times] == ["ts"]
    sql = readable(join.run_sql({"passed_0": "p", "all_2": "c"}))
    assert sql.startswith("SELECT s0.")
    assert "WHERE false) AS s1" in sql
    assert "LEFT JOIN c AS s2" in sql
    assert ("s1.number IS NULL" in sql) == (kind in ("LEFT", ""))
    assert not join.run_sql({"all_1": "b", "all_2": "c"})


def test_inner_rows_of_three_come_at_once() -> None:
    root = bind(
        f"SELECT t.mph FROM traffic {ONE} t JOIN south [ROWS 5] s ON t.car_id = s.id "
        "JOIN south [ROWS 3] u ON t.car_id = u.id"
    )
    (join,) = (node for node in walk(root) if isinstance(node, RowsJoin))
    assert not join.waits
    assert not join.preserved


def test_a_table_after_all_streams_joins_what_an_outer_join_of_rows_gives() -> None:
    root = bind(
        "SELECT t.mph, r.name FROM traffic [ROWS 5] t LEFT JOIN south [ROWS 5] s "
        "ON t.car_id = s.id LEFT JOIN roads r ON s.mph = r.mph"
    )
    (table,) = (node for node in walk(root) if isinstance(node, TableJoin))
    assert isinstance(table.input, RowsJoin)
    assert table.kind == "LEFT"


def test_reuse_keeps_combinations_of_any_number_of_streams() -> None:
    window = "[RANGE 2 MINUTES SLIDE 1 MINUTE]"
    select = (
        f"SELECT t.mph FROM traffic {window} t JOIN south {window} s ON t.car_id = s.id "
        f"JOIN south {window} u ON s.id = u.id"
    )
    root = reusing(select)
    (join,) = (node for node in walk(root) if isinstance(node, HopJoin))
    names = [f"{kind}_{n}" for kind in ("new", "all") for n in range(3)]
    sql = readable(join.pairs_sql({name: name for name in names}))
    assert sql.count("SELECT") == 1
    assert "FROM new_0 AS s0 JOIN all_1 AS s1" in sql
    assert "greatest(s0.time, s1.time, s2.time)" in sql
    with pytest.raises(BadQueryError):
        reusing(select.replace("JOIN", "LEFT JOIN"))


def reusing(select: str) -> Operator:
    world = World()
    binder = Binder(lambda name: world.known.get(name.lower()), world.analyst, join="reuse")
    return binder.bind(parse_select(select))


def test_a_join_window_by_window_has_the_bounds_as_its_times() -> None:
    window = "[RANGE 2 MINUTES SLIDE 1 MINUTE]"
    root = bind(
        f"SELECT window_start, t.mph FROM traffic {window} t "
        f"LEFT JOIN south {window} s ON t.car_id = s.id"
    )
    join = next(node for node in walk(root) if isinstance(node, HopJoin))
    assert join.mode == "recompute"
    assert root.times == (EventTime("window_start"),)


def test_conditions_do_not_move_the_windows_of_rows() -> None:
    root = bind(
        f"SELECT t.mph FROM traffic [ROWS 5] t, south {ONE} s, roads r "
        "WHERE t.car_id = s.id AND t.kind = 'Car' AND r.mph = t.mph"
    )
    join = next(node for node in walk(root) if isinstance(node, RowsJoin))
    assert join.inputs == (TRAFFIC, SOUTH)
    assert readable(join.steps[0].on) == "(s0.`car_id` = s1.`id`) AND (s0.`kind` = 'Car')"


MARKS = st.sampled_from([BEGIN_OF_TIME, *range(0, 60, 7), END_OF_TIME])


@pytest.mark.parametrize("kind", KINDS)
@given(marks=st.tuples(MARKS, MARKS), widths=st.tuples(st.integers(0, 9), st.integers(0, 9)))
def test_what_comes_later_keeps_every_promise(
    kind: str, marks: tuple[int, int], widths: tuple[int, int]
) -> None:
    """Try all pairs of times that may still come, and all tuples that may come alone."""
    sides = (
        JoinSide(EventTime("ts"), widths[0], (("ts", "ts"),), (("ts", 0),)),
        JoinSide(EventTime("at"), widths[1], (("at", "at"),), (("at", 0),)),
    )
    join = WindowJoin(TRAFFIC, SOUTH, sides, kind, "", carry=True)
    promise = join.promise(marks)
    promised = {time.column: time.offset for time in join.times}

    def fits(met: int, **columns: int) -> bool:
        at = promise == BEGIN_OF_TIME or met >= promise
        return at and all(
            promise == BEGIN_OF_TIME or columns[name] >= promise + offset
            for name, offset in promised.items()
            if name in columns
        )

    grid = range(-20, 90, 3)
    for left, right in product(grid, grid):
        meets = left <= right + widths[1] and right <= left + widths[0]
        if meets and (left >= marks[0] or right >= marks[1]) and kind not in ("LEFT ANTI",):
            # A semi join gives the left alone, at its own time.
            met = left if join.is_lone else max(left, right)
            assert fits(met, ts=left, **({} if join.is_lone else {"at": right}))
    if 0 in join.preserved:
        undecided = (t for t in grid if t >= marks[0] or t + widths[0] >= marks[1])
        assert all(fits(t, ts=t) for t in undecided)
    if 1 in join.preserved:
        undecided = (t for t in grid if t >= marks[1] or t + widths[1] >= marks[0])
        assert all(fits(t, at=t) for t in undecided)


@pytest.mark.parametrize("kind", KINDS)
@given(marks=st.tuples(MARKS, MARKS), widths=st.tuples(st.integers(0, 9), st.integers(0, 9)))
def test_whoever_may_meet_or_decide_is_still_needed(
    kind: str, marks: tuple[int, int], widths: tuple[int, int]
) -> None:
    sides = tuple(JoinSide(EventTime("ts"), width, ()) for width in widths)
    join = WindowJoin(TRAFFIC, SOUTH, (sides[0], sides[1]), kind, "")
    grid = range(-20, 90, 3)
    for place, other in ((0, 1), (1, 0)):
        needed_from = join.needed_from(place, marks)
        for mine, its in product(grid, grid):
            meet = mine <= its + widths[other] and its <= mine + widths[place]
            to_come = its >= marks[other]
            undecided = other in join.preserved and (
                its + widths[other] >= marks[place] or its >= marks[other]
            )
            if meet and (to_come or undecided):
                assert mine + widths[place] >= needed_from


def test_joins_of_other_columns_are_other_nodes() -> None:
    def text(columns: str) -> str:
        sql = f"SELECT {columns} FROM traffic {ONE} t JOIN south {ONE} s ON t.car_id = s.id"
        return the_join(bind(sql)).text()

    assert text("t.mph") == text("s.mph")  # names that may be meant: it keeps both
    assert text("t.mph") != text("t.kind")
    assert "r.mph as r_mph" in text("t.mph")


def test_errors_of_joins_have_hints() -> None:
    with pytest.raises(PenstockError) as raised:
        bind(f"SELECT t.mph FROM traffic {ONE} t JOIN south s ON t.car_id = s.id")
    assert "s [RANGE" in raised.value.hint
