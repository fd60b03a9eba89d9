"""Which columns tell windows apart, and who may compare a window's rows by them."""

import pytest

from penstock.errors import BadQueryError
from penstock.model.own_names import PREFIX
from penstock.model.schema import Column, Schema
from penstock.plan.operators import EventTime, Operator, Scan, Top, walk
from penstock.plan.operators.windows.window_aggregate import END, START
from penstock.plan.relations.sources import StreamSource
from penstock.plan.select.bind import Binder
from penstock.plan.windows.bind_aggregate import Emission
from penstock.plan.windows.whole import OF_WINDOW, window_columns, with_windows
from penstock.sql import parse_select
from tests.unit.plan.twin import TRAFFIC, TwinAnalyst, bind

LANDMARK = "[LANDMARK FROM TIMESTAMP '2026-01-01' EVERY 10 SECONDS]"
SELECTED = "SELECT kind, count(*) AS n FROM traffic"

# A stream whose columns are called as a window's bounds are.
NAMESAKES = Scan(
    "odd",
    9,
    Schema(
        (
            Column("ts", "timestamp"),
            Column("window_start", "timestamp"),
            Column("window_end", "int"),
            Column("k", "string"),
        )
    ),
    (EventTime("ts"),),
)


def bind_odd(select: str) -> Operator:
    known = {"odd": StreamSource(NAMESAKES), "traffic": StreamSource(TRAFFIC)}
    return Binder(known.get, TwinAnalyst()).bind(parse_select(select))


def hopping(lower: int, upper: int) -> str:
    until = " UNTIL 10" if not lower and not upper else ""
    return f"[BEGIN 1 END 10 HOP ({lower}, {upper}){until}]"


@pytest.mark.parametrize(
    ("window", "told"),
    [
        ("[RANGE 10 SECONDS]", (START, END)),
        ("[ROWS 5]", (START, END)),
        (LANDMARK, (END,)),
        ("[LANDMARK FROM 3 EVERY 4]", (END,)),
        (hopping(0, 2), (END,)),
        (hopping(2, 0), (START,)),
        (hopping(1, 2), (START, END)),
        (hopping(0, -2), (END,)),
        (hopping(-1, -2), (START, END)),
        (hopping(0, 0), (START, END)),
        ("[SESSION GAP 5 SECONDS]", ()),
    ],
)
def test_the_bounds_that_move_tell_windows_apart(window: str, told: tuple[str, ...]) -> None:
    assert window_columns(bind(f"SELECT count(*) AS n FROM traffic {window}").inputs[0]) == told


def test_rows_that_come_several_times_are_no_whole_windows() -> None:
    for emission in (Emission(early=1_000_000), Emission(lateness=1_000_000)):
        known = {"traffic": StreamSource(TRAFFIC)}
        binder = Binder(known.get, TwinAnalyst(), emission)
        below = binder.bind(parse_select(f"{SELECTED} [RANGE 10 SECONDS] GROUP BY kind"))
        assert window_columns(below) == ()
        over = {"counts": StreamSource(below)}
        with pytest.raises(BadQueryError, match="several times"):
            Binder(over.get, TwinAnalyst()).bind(parse_select("SELECT n FROM counts LIMIT 1"))


def test_a_bound_that_is_not_shown_is_carried_along_hidden() -> None:
    below = bind(f"SELECT n FROM ({SELECTED} {LANDMARK} GROUP BY kind) WHERE n > 2")
    assert window_columns(below) == ()
    assert window_columns(with_windows(below)) == (OF_WINDOW,)
    assert bind(f"SELECT n FROM ({SELECTED} {LANDMARK} GROUP BY kind) LIMIT 1").schema.names == (
        "n",
    )


def test_rows_of_no_window_stay_as_they_are() -> None:
    below = bind("SELECT kind FROM traffic WHERE mph > 3")
    assert with_windows(below) == below


def top(root: Operator) -> Top:
    return next(node for node in walk(root) if isinstance(node, Top))


def test_a_select_above_goes_by_the_window_whatever_its_columns_are_called() -> None:
    shown = "SELECT window_start AS a, window_end AS b, kind, count(*) AS window_start"
    root = bind(f"SELECT a FROM ({shown} FROM traffic {LANDMARK} GROUP BY kind) LIMIT 1")
    (by,) = {sql for name, sql in _columns(top(root).input) if name == top(root).by}
    assert by == "`b`"


def _columns(operator: Operator) -> tuple[tuple[str, str], ...]:
    found: tuple[tuple[str, str], ...] = getattr(operator, "columns", ())
    return found


R = "[RANGE 10 SECONDS]"
BEYOND = (
    f"SELECT kind, rank() OVER (ORDER BY count(*)) AS p FROM traffic {R} GROUP BY kind",
    f"SELECT kind, rank() OVER (PARTITION BY kind ORDER BY count(*)) AS p FROM traffic {R} "
    "GROUP BY kind",
    # All windows from a landmark share it.
    f"SELECT kind, rank() OVER (PARTITION BY window_start ORDER BY count(*)) AS p "
    f"FROM traffic {LANDMARK} GROUP BY kind",
    # Names of bounds that are something else.
    f"SELECT k, rank() OVER (PARTITION BY odd.window_start ORDER BY k) AS p FROM odd {R} "
    "GROUP BY k, odd.window_start",
    "SELECT n, sum(n) OVER (PARTITION BY window_end) AS p FROM (SELECT count(*) AS n, kind AS "
    f"window_end FROM traffic {R} GROUP BY kind)",
    "SELECT n, sum(n) OVER (PARTITION BY window_start) AS p FROM (SELECT count(*) AS n, "
    f"date_trunc('HOUR', window_start) AS window_start FROM traffic {R} GROUP BY kind)",
    f"SELECT n, sum(n) OVER (ORDER BY n) AS p FROM ({SELECTED} {R} GROUP BY kind)",
    f"SELECT n FROM ({SELECTED} {R} GROUP BY kind) QUALIFY rank() OVER (ORDER BY n) = 1",
)


@pytest.mark.parametrize("select", BEYOND)
def test_over_may_not_look_beyond_a_window(select: str) -> None:
    with pytest.raises(BadQueryError, match="beyond its window") as refused:
        bind_odd(select)
    assert PREFIX not in f"{refused.value.message} {refused.value.hint}"


WITHIN = (
    "SELECT n, sum(n) OVER (PARTITION BY e) AS p FROM (SELECT count(*) AS n, window_end AS e "
    f"FROM traffic {LANDMARK} GROUP BY kind)",
    "SELECT n, sum(n) OVER (PARTITION BY window_start) AS p FROM (SELECT count(*) AS n, "
    f"window_end AS window_start FROM traffic {LANDMARK} GROUP BY kind)",
    f"SELECT k, rank() OVER (PARTITION BY window_start ORDER BY k) AS p FROM odd {R} GROUP BY k",
    f"SELECT kind, rank() OVER (PARTITION BY (window_end), kind ORDER BY kind) AS p "
    f"FROM traffic {LANDMARK} GROUP BY kind",
)


@pytest.mark.parametrize("select", WITHIN)
def test_over_goes_by_what_a_column_is(select: str) -> None:
    assert bind_odd(select).schema.names[-1] == "p"


def test_over_is_told_as_it_was_written() -> None:
    with pytest.raises(BadQueryError) as refused:
        bind(
            "SELECT kind, rank() OVER (PARTITION BY kind ORDER BY sum(mph) DESC) AS p "
            f"FROM traffic {R} GROUP BY kind"
        )
    assert "PARTITION BY kind ORDER BY SUM(mph) DESC" in refused.value.message


def test_a_column_called_as_the_one_that_emission_adds_is_refused_by_name() -> None:
    known = {"traffic": StreamSource(TRAFFIC)}
    binder = Binder(known.get, TwinAnalyst(), Emission(early=1_000_000))
    with pytest.raises(BadQueryError, match="EMIT EARLY and ALLOWED LATENESS add") as refused:
        binder.bind(
            parse_select(f"SELECT kind AS Emitted, count(*) AS n FROM traffic {R} GROUP BY 1")
        )
    assert refused.value.hint


def test_the_names_of_bounds_alone_mean_the_windows() -> None:
    for select in ("SELECT window_start, odd.window_end AS mine", "SELECT window_start, k AS mine"):
        root = bind_odd(f"{select} FROM odd {R}")
        assert dict(_columns(root))["window_start"] == f"`{START}`"
    mine = bind_odd(f"SELECT odd.window_end AS mine FROM odd {R}")
    assert dict(_columns(mine))["mine"] == "`window_end`"
    grouped = bind_odd(f"SELECT window_start, count(*) AS n FROM odd {R}")
    assert dict(_columns(grouped))["window_start"] == f"`{START}`"
