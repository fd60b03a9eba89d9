from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from penstock.errors import BadWindowError, PenstockError
from penstock.model.windows import GenericWindow, LandmarkWindow, RangeWindow, RowsWindow, Window
from penstock.sql import parse_select, to_sql, window_of
from penstock.sql.dialect.windows import window_sql
from tests.unit.sql.texts import windows


def window(text: str) -> Window | None:
    table = parse_select(f"SELECT a FROM s [{text}]").find(exp.Table)
    assert table is not None
    return window_of(table)


@settings(deadline=None)
@given(windows)
def test_a_window_reads_as_it_was_printed(given_window: Window) -> None:
    assert window(window_sql(given_window)) == given_window


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("range 60 seconds", "RANGE 1 MINUTE"),
        ("RANGE INTERVAL '1 day' SLIDE INTERVAL '6' HOUR", "RANGE 1 DAY SLIDE 6 HOURS"),
        ("RANGE 14 DAYS SLIDE 7 DAYS", "RANGE 2 WEEKS SLIDE 1 WEEK"),
        ("RANGE 0.25 SECONDS", "RANGE 250 MILLISECONDS"),
        ("BEGIN 1 END 2 HOP (+1, 0)", "BEGIN 1 END 2 HOP (1, 0)"),
        ("BEGIN 7 END 9 HOP ( -1,-1 )", "BEGIN 7 END 9 HOP (-1, -1)"),
        ("PARTITION BY k ROWS 3", "PARTITION BY `k` ROWS 3"),
        ("WHEN   sum( x )>3", "WHEN SUM(x) > 3"),
    ],
)
def test_a_window_is_printed_in_one_form(text: str, printed: str) -> None:
    found = window(text)
    assert found is not None
    assert window_sql(found) == printed


def test_a_time_without_an_offset_is_in_utc() -> None:
    start = datetime(2026, 1, 31, 12, tzinfo=UTC)
    expected = LandmarkWindow(start, timedelta(days=1))
    assert window("LANDMARK FROM '2026-01-31 12:00:00' EVERY 1 DAY") == expected
    assert window("LANDMARK FROM '2026-01-31T14:00:00+02:00' EVERY 1 DAY") == expected
    assert window("LANDMARK FROM TIMESTAMP '2026-01-31 12:00:00Z' EVERY 1 DAY") == expected


def test_a_hop_of_zero_needs_no_unit() -> None:
    found = window("BEGIN '2026-01-01' END '2026-01-02' HOP (0, 1 DAY)")
    assert isinstance(found, GenericWindow)
    assert (found.hop_lower, found.hop_upper) == (timedelta(0), timedelta(days=1))


BAD = [
    "RANGE 0 SECONDS",
    "RANGE -1 SECONDS",
    "RANGE 1 MONTH",
    "RANGE '1 year 2 days'",
    "RANGE 99999999999999999999 DAYS",
    "RANGE 1 SECOND SLIDE 0 SECONDS",
    "RANGE 1 SECOND SLIDE 1 QUARTER",
    "ROWS 0",
    "ROWS -3",
    "ROWS 1.5",
    "ROWS 99999999999999999999",
    "ROWS 3 SLIDE 4",
    "SESSION GAP 0 SECONDS",
    "BEGIN 1 END '2026-01-01' HOP (1, 1)",
    "BEGIN 'soon' END '2026-01-01' HOP (0, 0)",
    "BEGIN '0001-01-01T00:00:00+10:00' END '2026-01-01' HOP (0, 0)",
    "BEGIN '2026-01-01' END '2026-01-02' HOP (0, 0) UNTIL 3",
    "BEGIN 0 END 100 HOP (1, 1)",
    "BEGIN 3 END 2 HOP (1, 1)",
    "BEGIN '2026-01-01' END '2026-01-01' HOP (1 DAY, 1 DAY)",
    "BEGIN 1 END 2 HOP (1, -1)",
    "BEGIN 1 END 2 HOP (0, 0)",
    "BEGIN 1 END 2 HOP (-1, 0)",
    "BEGIN 5 END 9 HOP (1, 1) UNTIL 8",
    "BEGIN 5 END 9 HOP (-1, -1) UNTIL 5",
    "LANDMARK FROM '2026-02-30' EVERY 1 DAY",
    "LANDMARK FROM 0 EVERY 10",
    "LANDMARK FROM 1 EVERY 0",
    "LANDMARK FROM '2026-02-01' EVERY -1 DAY",
    "WHEN a > 3",
    "WHEN TRUE",
    "WHEN (SELECT max(b) FROM t) > 3",
    "WHEN sum(a) OVER () > 3",
    "WHEN max(adiff(a)) > 3",
]


@pytest.mark.parametrize("text", BAD)
def test_a_window_that_makes_no_sense_is_refused_at_its_bracket(text: str) -> None:
    with pytest.raises(BadWindowError) as caught:
        window(text)
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (1, 17)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "RANGE",
        "RANGE 2",
        "RANGE 2 BANANAS",
        "RANGE 'soon'",
        "RANGE 1e3 SECONDS",
        "RANGE 2 MINUTES 3",
        "ROWS",
        "ROWS many",
        "PARTITION ROWS 3",
        "PARTITION BY ROWS",
        "PARTITION BY k RANGE 1 DAY",
        "BEGIN 1 END 2",
        "BEGIN 1 END 2 HOP 3",
        "BEGIN TIMESTAMP 3 END 4 HOP (1, 1)",
        "BEGIN '2026-01-01' END '2026-01-02' HOP (1, 1)",
        "LANDMARK 3",
        "SESSION 30 SECONDS",
        "WHEN",
        "ROWS 3] [ROWS 3",
    ],
)
def test_a_window_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(PenstockError) as caught:
        window(text)
    assert caught.value.code == "SQL_SYNTAX"


@pytest.mark.parametrize(
    "text",
    [
        "s [ROWS 3] AS a [ROWS 3]",
        "(SELECT 1) [ROWS 3] [ROWS 3]",
        "(SELECT 1) [ROWS 3] AS a [ROWS 3]",
        "(s) [ROWS 3]",
        "(s JOIN t ON TRUE) [ROWS 3]",
        "VALUES (1) AS v(a) [ROWS 3]",
        "(VALUES (1)) [ROWS 3]",
        "s UNION ALL (SELECT 1) [ROWS 3]",
    ],
)
def test_a_window_stands_once_and_after_a_name_or_a_subquery(text: str) -> None:
    with pytest.raises(PenstockError) as caught:
        parse_select(f"SELECT * FROM {text}")
    assert caught.value.code == "SQL_SYNTAX"


def test_windows_stand_before_and_after_aliases() -> None:
    tree = parse_select("SELECT 1 FROM s [ROWS 1] AS a, t AS b [ROWS 2] JOIN u [ROWS 3] c ON TRUE")
    found = {table.alias: window_of(table) for table in tree.find_all(exp.Table)}
    assert found == {"a": RowsWindow(1), "b": RowsWindow(2), "c": RowsWindow(3)}


JOINS = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"]
FORMS = [
    "{what} [ROWS {rows}] AS {alias}",
    "{what} [ROWS {rows}] {alias}",
    "{what} AS {alias} [ROWS {rows}]",
    "{what} {alias} [ROWS {rows}]",
]


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(FORMS), st.sampled_from(["s", "q.late", "(SELECT a FROM t)"])),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([", ", " CROSS JOIN ", " NATURAL JOIN ", *JOINS]),
)
def test_every_input_of_every_join_may_have_a_window(
    inputs: list[tuple[str, str]], join: str
) -> None:
    entries = [
        form.format(what=what, rows=n + 1, alias=f"x{n}") for n, (form, what) in enumerate(inputs)
    ]
    if join in JOINS:
        others = [f" {join} {one} ON TRUE" for one in entries[1:]]
        tree = parse_select(f"SELECT 1 FROM {entries[0]}{''.join(others)}")
    else:
        tree = parse_select(f"SELECT 1 FROM {join.join(entries)}")
    nodes = [node for node in tree.find_all(exp.Table, exp.Subquery) if node.alias]
    assert {node.alias: window_of(node) for node in nodes} == {
        f"x{n}": RowsWindow(n + 1) for n in range(len(inputs))
    }
    assert parse_select(to_sql(tree)) == tree


def test_keys_keep_their_case_and_may_be_quoted() -> None:
    assert window("PARTITION BY Car, `the lane` ROWS 3") == RowsWindow(3, None, ("Car", "the lane"))


def test_a_condition_may_hold_brackets_of_its_own() -> None:
    assert window("WHEN max(xs[0]) > ys[zs[1]]") != window("WHEN max(xs[0]) > ys[zs[2]]")


def test_range_without_slide_has_none() -> None:
    assert window("RANGE 10 MINUTES") == RangeWindow(timedelta(minutes=10), None)
