"""What Arrow answers in the driver is what Spark answers: values, order, names and types.

Expressions are made at random from all that Arrow has a kernel for, over columns with every value
at which two engines like to differ. Where Arrow answers, Spark must say the same; where it does
not, nothing is claimed, so the last tests hold that it does answer what it is there for.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.engine.arrow.answers import answer
from penstock.engine.arrow.kernels import KERNELS, TYPED
from penstock.engine.spark.application.session import open_sessions
from penstock.engine.trains.types import arrow_schema
from penstock.model.schema import Column, Schema
from penstock.plan.arrow.read_select import read_select
from penstock.plan.arrow.values import Call
from tests.examples import examples

pytestmark = pytest.mark.spark

COLUMNS = {
    "a": "bigint",
    "b": "bigint",
    "i": "int",
    "j": "smallint",
    "v": "double",
    "w": "double",
    "k": "string",
    "l": "string",
    "p": "boolean",
    "q": "boolean",
    "t": "timestamp",
    "u": "timestamp",
}
SCHEMA = Schema(tuple(Column(name, type_) for name, type_ in COLUMNS.items()))
TABLE = pa.table({"id": pa.array([0, 1, 1, None, -7], pa.int64()), "room": list("vwxyz")})
EARLIEST, LATEST = datetime(1800, 1, 1), datetime(9999, 12, 31)  # noqa: DTZ001  (hypothesis adds it)
VALUES = {
    "bigint": st.sampled_from([0, 1, -1, 2, -7, 2**53 + 1, 2**63 - 1, -(2**63), 5_000_000]),
    "int": st.sampled_from([0, 1, -1, 3, 2**31 - 1, -(2**31)]),
    "smallint": st.sampled_from([0, 1, -2, 2**15 - 1, -(2**15)]),
    "double": st.sampled_from([0.0, -0.0, 1.5, -2.5, 0.15, 2.675, 20.15, 1e308, 5e-324])
    | st.sampled_from([float("nan"), float("inf"), float("-inf"), 1e23, 2.0**63])
    | st.floats(-1e4, 1e4).map(lambda x: round(x, 2)),
    "string": st.sampled_from(["", "a", "A", "ä", "e\u0301", "\U0001f600", "\uffff", "ab", " a"]),
    "boolean": st.booleans(),
    "timestamp": st.datetimes(EARLIEST, LATEST, timezones=st.just(UTC)),
}
CALM = {
    "bigint": st.integers(-50, 50),
    "int": st.integers(-50, 50),
    "smallint": st.integers(-50, 50),
    "double": st.integers(-400, 400).map(lambda x: x / 8),
}
LITERALS = {
    "bigint": st.sampled_from(["0L", "1L", "7L", "5000000L", "9223372036854775807L"]),
    "int": st.sampled_from(["0", "1", "3", "2147483647"]),
    "smallint": st.just("`j`"),
    "double": st.sampled_from(["0.0D", "1.5D", "2.675", "1e3", "3.0"]),
    "string": st.sampled_from(["''", "'a'", "'ä'", "'5000000L'"]),
    "boolean": st.sampled_from(["true", "false"]),
    "timestamp": st.just("timestamp_micros(5000000L)"),
}
WHOLE = ("bigint", "int", "smallint")
COMPARED = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"])


def rows(
    values: dict[str, st.SearchStrategy[object]],
) -> st.SearchStrategy[list[tuple[object, ...]]]:
    columns = [st.none() | values.get(type_, VALUES[type_]) for type_ in COLUMNS.values()]
    return st.lists(st.tuples(*columns), max_size=8)


ROWS = rows(VALUES) | rows(VALUES | CALM)  # among extremes alone most sums would be errors


def _leaf(type_: str) -> st.SearchStrategy[str]:
    names = [f"`{name}`" for name, of in COLUMNS.items() if of == type_]
    return st.sampled_from(names) | LITERALS[type_]


def _grown(type_: str, depth: int) -> st.SearchStrategy[str]:
    """Return expressions of a type, of everything that has a kernel."""
    if depth == 0:
        return _leaf(type_)

    def sub(of: str) -> st.SearchStrategy[str]:
        return st.deferred(lambda: _grown(of, depth - 1))

    def made(text: str, *of: str) -> st.SearchStrategy[str]:
        return st.tuples(*map(sub, of)).map(lambda args: text.format(*args))

    own = [
        _leaf(type_),
        made("CASE WHEN {} THEN {} END", "boolean", type_),
        made("IF({}, {}, {})", "boolean", type_, type_),
        made("coalesce({}, {})", type_, type_),
        made("nullif({}, {})", type_, type_),
        made("greatest({}, {})", type_, type_),
        made("least({}, {})", type_, type_),
    ]
    return st.one_of(*own, *(made(text, *of) for text, *of in OPERATIONS.get(type_, ())))


OPERATIONS: dict[str, list[tuple[str, ...]]] = {
    "bigint": [
        *((f"({{}} {sign} {{}})", "bigint", "int") for sign in ("+", "-", "*", "&", "%")),
        ("({} div {})", "bigint", "bigint"),
        ("pmod({}, 5000000L)", "bigint"),
        ("pmod({}, {})", "bigint", "bigint"),
        ("(- {})", "bigint"),
        ("abs({})", "bigint"),
        ("floor({})", "double"),
        ("ceil({})", "double"),
        ("unix_micros({})", "timestamp"),
        ("CAST({} AS BIGINT)", "int"),
        ("CAST({} AS BIGINT)", "double"),
        ("get(array(3L, 1L, 5000000L), {})", "int"),
        ("element_at(array(3L, 1L, 7L), {})", "int"),
        ("xxhash64({}, {}, 7L)", "bigint", "bigint"),
        ("shiftrightunsigned({}, 11)", "bigint"),
        ("shiftrightunsigned({}, 67)", "bigint"),
    ],
    "int": [
        ("({} + {})", "int", "smallint"),
        ("({} * {})", "int", "int"),
        ("(- {})", "int"),
        ("length({})", "string"),
        ("CAST({} AS INT)", "bigint"),
        ("CAST({} AS INT)", "double"),
        ("aggregate(array(2, 1), 0, (x, s) -> IF(get(array(1L, 7L), x + s - 1) < `a`, x + s, x))",),
        ("aggregate(array(1), 0, (x, s) -> IF(get(array('a'), x + s - 1) < `k`, x + s, x))",),
        ("aggregate(array(1), 0, (x, s) -> IF(get(array(0.0D), x + s - 1) < `v`, x + s, x))",),
    ],
    "double": [
        *((f"({{}} {sign} {{}})", "double", "double") for sign in ("+", "-", "*", "/")),
        ("({} + 1.5)", "double"),
        ("({} * {})", "double", "bigint"),
        ("({} / {})", "bigint", "int"),
        ("(- {})", "double"),
        ("abs({})", "double"),
        ("round({}, 1)", "double"),
        ("round({})", "double"),
        ("CAST({} AS DOUBLE)", "bigint"),
        ("CAST({} / nullif({}, 0) AS double)", "double", "bigint"),
    ],
    "string": [
        ("concat({}, {})", "string", "string"),
        ("({} || {})", "string", "string"),
        ("CAST({} AS STRING)", "string"),
        ("CAST({} AS STRING)", "bigint"),
        ("concat('x', {})", "int"),
        *((f"substring({{}}, {bounds})", "string") for bounds in ("1, 2", "2", "2, 0", "3, -1")),
        ("left({}, 1)", "string"),
        ("({} || {})", "string", "smallint"),
    ],
    "boolean": [
        *((f"({{}} {sign} {{}})", "boolean", "boolean") for sign in ("AND", "OR")),
        ("(NOT {})", "boolean"),
        *((f"({{}} {sign} {{}})", "double", "double") for sign in ("<", "=", "<=", "<=>")),
        *((f"({{}} {sign} {{}})", "bigint", "double") for sign in ("<", "=", ">=")),
        *((f"({{}} {sign} {{}})", "string", "string") for sign in ("<", "<>", ">", "<=>")),
        ("({} > {})", "timestamp", "timestamp"),
        ("({} = {})", "boolean", "boolean"),
        ("({} BETWEEN {} AND {})", "double", "int", "double"),
        ("({} IN (1, {}, 3))", "bigint", "int"),
        ("({} NOT IN ('a', 'ä'))", "string"),
        ("({} IS NULL)", "double"),
        ("({} IS NOT NULL)", "string"),
        ("CAST({} AS BOOLEAN)", "boolean"),
    ],
    "timestamp": [
        ("timestamp_micros({})", "bigint"),
        ("CAST({} AS TIMESTAMP)", "timestamp"),
    ],
}
ANY_VALUE = st.sampled_from(sorted(OPERATIONS)).flatmap(lambda type_: _grown(type_, 2))
CONDITION = _grown("boolean", 2)
TOTALS = st.sampled_from(
    [
        *("count(*)", "count(1)", "count(`v`)", "sum(`a`)", "sum(`i`)", "sum(`v`)", "min(`k`)"),
        *("max(`v`)", "min(`t`)", "max(`p`)", "sum(CAST(`i` AS DOUBLE))", "count(`k`) + 1L"),
        *("CAST(sum(`v`) AS double)", "sum(`a`) FILTER (WHERE `p`)", "count(*) FILTER (WHERE `q`)"),
        *("sum(`v`) / nullif(count(`v`), 0)", "max(`u`)", "min(`a` + `b`)"),
    ]
)


def _selects(value: str, condition: str, totals: list[str], keys: list[str]) -> dict[str, str]:
    """Return a SELECT of each shape that is answered."""
    shown = ", ".join(f"{sql} AS c{place}" for place, sql in enumerate([*keys, *totals]))
    numbered = ", ".join(str(place + 1) for place in range(len(keys)))
    lower, upper = "greatest(-2L, coalesce(`a`, 0L))", "least(5L, coalesce(`b`, 3L))"
    numbers = f"CASE WHEN {lower} <= {upper} THEN sequence({lower}, {upper}, 1L) END"
    return {
        "values": f"SELECT *, {value} AS x FROM leaf",
        "rows": f"SELECT s.*, s.`a` AS again FROM (SELECT * FROM leaf WHERE {condition}) AS s",
        "groups": f"SELECT {shown} FROM (SELECT * FROM leaf) AS i WHERE {condition} "
        f"GROUP BY {numbered}",
        "union": f"SELECT {value} AS x FROM leaf UNION ALL "
        f"SELECT * FROM (SELECT {value} AS y FROM leaf WHERE {condition})",
        "both": "SELECT l.`a`, r.`w`, r.`k` FROM leaf AS l JOIN leaf AS r "
        "ON (l.`k` = r.`k` AND l.`j` = r.`i`) AND l.`a` <= r.`b` AND l.`v` < r.`w`",
        "spread": f"SELECT *, explode({numbers}) AS n FROM leaf WHERE {condition}",
    } | {
        kind: f"SELECT /*+ BROADCAST(r) */ l.*{shows} FROM leaf AS l {kind} rooms AS r "
        "ON (l.`a` = r.`id`)"
        for kind, shows in {
            "JOIN": ", r.`room` AS `room`",
            "LEFT JOIN": ", r.`room` AS `room`",
            "LEFT SEMI JOIN": "",
            "LEFT ANTI JOIN": "",
        }.items()
    }


@pytest.fixture(scope="module")
def by_spark(spark: SparkSession) -> Callable[[str, pa.Table], pa.Table]:
    small = open_sessions(spark=spark).small
    small.createDataFrame(TABLE).createOrReplaceTempView("rooms")

    def asked(sql: str, leaf: pa.Table) -> pa.Table:
        small.createDataFrame(leaf).coalesce(1).createOrReplaceTempView("leaf")
        return small.sql(sql).toArrow()

    return asked


def _table(values: list[tuple[object, ...]]) -> pa.Table:
    columns = [list(each) for each in zip(*values, strict=True)] or [[] for _ in COLUMNS]
    wanted = arrow_schema(SCHEMA)
    arrays = [pa.array(v, field.type) for v, field in zip(columns, wanted, strict=True)]
    return pa.Table.from_arrays(arrays, schema=wanted)


def _written(table: pa.Table, *, ordered: bool) -> list[str]:
    found = [repr(list(row.values())) for row in table.to_pylist()]
    return found if ordered else sorted(found)


def _agree(sql: str, kind: str, leaf: pa.Table, spark: Callable[[str, pa.Table], pa.Table]) -> None:
    found = answer(sql, {"leaf": leaf, "rooms": TABLE})
    if found is None:
        return
    wanted = spark(sql, leaf)
    assert found.schema.names == wanted.schema.names
    assert found.schema.types == wanted.schema.types
    ordered = kind not in ("groups", "both", "JOIN", "LEFT JOIN")  # a hash table has no order
    assert _written(found, ordered=ordered) == _written(wanted, ordered=ordered)


KEYS = st.sampled_from(["`a`", "`i` % 2", "`k`", "`t`", "`p`", "`v`"])
SELECTS = st.builds(
    _selects, ANY_VALUE, CONDITION, st.lists(TOTALS, max_size=3), st.lists(KEYS, min_size=1)
)


@settings(max_examples=examples(300), deadline=None)
@given(values=ROWS, selects=SELECTS, place=st.integers(0, 9))
def test_where_arrow_answers_it_says_what_spark_says(
    by_spark: Callable[[str, pa.Table], pa.Table],
    values: list[tuple[object, ...]],
    selects: dict[str, str],
    place: int,
) -> None:
    name, sql = list(selects.items())[place]
    _agree(sql, name, _table(values), by_spark)


CALM_ROWS = [
    (
        n,
        -n,
        n % 3,
        1,
        n / 2,
        0.25,
        "a",
        "b",
        n % 2 == 0,
        None,
        datetime(2026, 1, 1, tzinfo=UTC),
        None,
    )
    for n in range(6)
]


@pytest.mark.parametrize("place", range(10))
def test_plain_rows_are_answered_in_every_shape(
    by_spark: Callable[[str, pa.Table], pa.Table], place: int
) -> None:
    shapes = _selects("round(`v` * 2, 1)", "`a` >= 1 AND NOT `p`", ["sum(`v`)"], ["`k`"])
    name, sql = list(shapes.items())[place]
    assert answer(sql, {"leaf": _table(CALM_ROWS), "rooms": TABLE}) is not None
    _agree(sql, name, _table(CALM_ROWS), by_spark)


def test_every_kernel_is_met_by_the_expressions_of_the_law() -> None:
    texts = [text for each in OPERATIONS.values() for text, *_ in each]
    fill = {"bigint": "`a`", "int": "`i`", "smallint": "`j`", "double": "`v`", "string": "`k`"}
    fill |= {"boolean": "`p`", "timestamp": "`t`"}
    asked = [
        text.format(*(fill[of] for of in types))
        for each in OPERATIONS.values()
        for text, *types in each
    ]
    asked += ["IF(`p`, 1, 2)", "coalesce(`a`, 1L)", "greatest(`a`, `b`)", "least(`a`, `b`)"]
    names = count()
    views = (("leaf", tuple(COLUMNS.items())),)
    columns = ", ".join(f"{sql} AS c{next(names)}" for sql in [*asked, "(`a` >= 1)", "(`a` <> 1)"])
    relation = read_select(f"SELECT {columns} FROM leaf", views)
    assert relation is not None
    assert len(texts) > len(WHOLE)
    assert _called(relation.values) == {*KERNELS, *TYPED}  # type: ignore[union-attr]


def _called(values: tuple[object, ...]) -> set[str]:
    calls = [each for each in values if isinstance(each, Call)]
    return {each.name for each in calls} | {n for each in calls for n in _called(each.args)}
