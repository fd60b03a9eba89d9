from fractions import Fraction

import pytest

from penstock.errors import PenstockError
from penstock.grid.functions.formulas import KERNELS
from penstock.model.grids import Aggregate, Axis, Convert, Interpolate, Merge, Window
from penstock.sql import (
    CreateBase,
    CreatePerspective,
    CreateQuery,
    SelectOnce,
    clip_of,
    parse,
    parse_select,
    to_sql,
)
from penstock.sql.clauses.formulas import ARITIES, BINARY

P = "CREATE PERSPECTIVE p FROM b "


def perspective(text: str) -> CreatePerspective:
    (statement,) = parse(text)
    assert isinstance(statement, CreatePerspective)
    return statement


def test_a_base_has_its_columns_and_resolution() -> None:
    (statement,) = parse(
        "CREATE BASE b FROM r (ts, y, x, v) RESOLUTION (time INTERVAL 1 MINUTE, lat 1/3600)"
    )
    assert isinstance(statement, CreateBase)
    assert statement.definition.columns == ("ts", "y", "x", "v")
    assert statement.definition.topology.time == Axis(Fraction(60))
    assert statement.definition.topology.lat == Axis(Fraction(1, 3600))
    assert statement.definition.topology.lon == Axis(Fraction(1, 3_600_000))


def test_a_base_reads_files_or_a_name_like_theirs() -> None:
    (files,) = parse("CREATE BASE b FROM netcdf(path => 'x.nc') (ts, y, x, v)")
    (name,) = parse("CREATE BASE b FROM netcdf (ts, y, x, v)")
    assert isinstance(files, CreateBase)
    assert isinstance(name, CreateBase)
    assert name.definition.source == "netcdf"
    assert files.definition.source != "netcdf"


def test_axes_overlap_leave_gaps_and_come_again() -> None:
    five = "time INTERVAL 5 MINUTES SIZE INTERVAL 15 MINUTES FROM '2007-10-01 00:00:01'"
    sliding = perspective(f"{P}GRID ({five}) AS aggregate(avg)").definition.time
    assert sliding == Axis(Fraction(300), Fraction(900), Fraction(1_191_196_801))
    hours = perspective(
        f"{P}GRID (time INTERVAL 1 HOUR EVERY INTERVAL 1 DAY, lon 0.5 FROM -7 - 1/60) "
        "AS aggregate(max)"
    ).definition
    assert hours.time == Axis(Fraction(3600), period=Fraction(86_400))
    assert hours.lon == Axis(Fraction(1, 2), origin=-Fraction(421, 60))
    assert hours.lat is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("convert(CASE WHEN value BETWEEN -50 AND 50 THEN value ELSE NULL END)", Convert),
        ("aggregate(median)", Aggregate),
        ("interpolate(kriging(neighbours => 20, variogram => 'linear'))", Interpolate),
        ("interpolate(idw(power => 1.5, radius => 500))", Interpolate),
        ("interpolate(nearest)", Interpolate),
    ],
)
def test_data_functions_are_read(text: str, kind: type) -> None:
    assert isinstance(perspective(f"{P}AS {text}").definition.function, kind)


def test_a_merge_calls_its_sources_whatever_their_case() -> None:
    merge = perspective("CREATE PERSPECTIVE p FROM Rain, sun AS merge(rain / nullif(SUN, 0))")
    function = merge.definition.function
    assert isinstance(function, Merge)
    assert "'Rain'" in str(function.formula)
    assert "'sun'" in str(function.formula)


def test_every_operation_of_sql_has_a_kernel() -> None:
    assert {*ARITIES, *BINARY.values(), "negative", "not", "is null", "case"} <= KERNELS.keys()


def test_within_is_a_window_and_prints_as_it_reads() -> None:
    text = (
        "SELECT x.value FROM p WITHIN (time FROM '2007-10-01' TO '2007-10-04 12:00:00.5', "
        "lat FROM 45 + 52/60 + 1/3600 TO 46) AS x, q WITHIN (lon FROM -1/3 TO 2.5)"
    )
    tree = parse_select(text)
    window = clip_of(tree.args["from_"].this)
    assert isinstance(window, Window)
    assert window.lat == (Fraction(165_121, 3600), Fraction(46))
    again = parse_select(to_sql(tree))
    assert again == tree
    assert clip_of(again.args["from_"].this) == window


def test_within_is_another_name_where_no_window_follows() -> None:
    assert to_sql(parse_select("SELECT * FROM p within")) == "SELECT * FROM p AS within"
    statement = parse("SELECT a FROM p WITHIN (a, b)")[0]
    assert isinstance(statement, SelectOnce)


def test_a_query_keeps_its_within() -> None:
    text = "CREATE QUERY q AS SELECT * FROM p WITHIN (lat FROM 1 TO 2)"
    statement = parse(text)[0]
    assert isinstance(statement, CreateQuery)
    assert clip_of(statement.select.args["from_"].this) is not None


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        (f"{P}AS convert(valu + 1)", "UNKNOWN_COLUMN", len(P) + 12),
        (f"{P}AS convert(1 + foo(value))", "UNKNOWN_FUNCTION", len(P) + 16),
        (f"{P}AS convert(power(value))", "BAD_GRID", len(P) + 12),
        (f"{P}AS convert(value || 'x')", "BAD_GRID", len(P) + 12),
        (f"{P}AS convert((SELECT 1))", "BAD_GRID", len(P) + 20),
        (f"{P}AS convrt(value)", "SQL_SYNTAX", len(P) + 4),
        (f"{P}AS merge(b)", "BAD_GRID", len(P) + 4),
        (f"{P}AS aggregate(average)", "SQL_SYNTAX", len(P) + 14),
        (f"{P}AS interpolate(kriging(power => 2))", "UNKNOWN_OPTION", len(P) + 16),
        (f"{P}AS interpolate(idw(power => 0))", "BAD_OPTION", len(P) + 16),
        (f"{P}AS interpolate(kriging(neighbours => 2))", "BAD_GRID", len(P) + 16),
        (f"{P}AS interpolate(kriging(variogram => 'x'))", "BAD_OPTION", len(P) + 16),
        (f"{P}GRID (lat 0) AS aggregate(avg)", "BAD_GRID", len(P) + 7),
        (f"{P}GRID (lat 1/0) AS aggregate(avg)", "BAD_GRID", len(P) + 13),
        (f"{P}GRID (lat 1e9) AS aggregate(avg)", "SQL_SYNTAX", len(P) + 11),
        (f"{P}GRID (lat 1, lat 2) AS aggregate(avg)", "SQL_SYNTAX", len(P) + 14),
        (f"{P}GRID (time INTERVAL 0 DAYS) AS aggregate(avg)", "BAD_OPTION", len(P) + 12),
        (f"{P}GRID (lat 1 SIZE 0) AS aggregate(avg)", "BAD_GRID", len(P) + 7),
        (f"{P}GRID (lat 2 EVERY 3) AS aggregate(avg)", "BAD_GRID", len(P) + 7),
        (f"{P}AS aggregate(avg) GRID (lat 1)", "SQL_SYNTAX", len(P) + 19),
        ("CREATE PERSPECTIVE p FROM a, A AS merge(a)", "BAD_GRID", 35),
        ("CREATE BASE b FROM s (a, b, c)", "SQL_SYNTAX", 30),
        ("CREATE BASE b FROM zarr(pth => 'x') (a, b, c, d)", "BAD_OPTION", 20),
        ("CREATE BASE b FROM s (a, b, c, d) RESOLUTION (lat 1 SIZE 2)", "BAD_GRID", 60),
        ("SELECT * FROM p WITHIN (lat FROM 2 TO 1)", "BAD_GRID", 17),
        ("SELECT * FROM p WITHIN (time FROM '2007-10-01' TO '2007-10-01')", "BAD_GRID", 17),
        ("SELECT * FROM p WITHIN (time FROM 'x' TO '2007-10-01')", "SQL_SYNTAX", 35),
        ("SELECT * FROM p WITHIN (lat FROM 1 TO 2, lat FROM 1 TO 2)", "SQL_SYNTAX", 42),
    ],
)
def test_what_is_wrong_has_a_code_and_a_place(text: str, code: str, column: int) -> None:
    with pytest.raises(PenstockError) as refused:
        parse(text)
    assert refused.value.code == code
    assert refused.value.place is not None
    assert refused.value.place.column == column
