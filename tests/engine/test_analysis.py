import threading
from collections.abc import Mapping

import pytest
from pyspark.sql import SparkSession

from penstock.engine.spark.analysis import SparkAnalyst
from penstock.errors import PenstockError
from penstock.model.schema import Column, Schema
from penstock.plan.operators import EventTime, Operator, Scan
from penstock.plan.relations.sources import StreamSource
from penstock.plan.select.bind import Binder
from penstock.sql import parse_select

pytestmark = pytest.mark.spark

SCHEMA = Schema(
    (
        Column("ts", "timestamp"),
        Column("k", "string"),
        Column("n", "int"),
        Column("m", "decimal(10,2)"),
        Column("xs", "array<int>"),
        Column("st", "struct<a:int,b:string>"),
    )
)
SCAN = Scan("s", 1, SCHEMA, (EventTime("ts"),))


@pytest.fixture(scope="module")
def analyst(spark: SparkSession) -> SparkAnalyst:
    return SparkAnalyst(spark.newSession())


def bind(analyst: SparkAnalyst, select: str) -> Operator:
    return Binder(lambda name: StreamSource(SCAN) if name == "s" else None, analyst).bind(
        parse_select(select)
    )


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("n", "int"),
        ("n + 1", "int"),
        ("n / 2", "double"),
        ("m * 2", "decimal(12,2)"),
        ("st.a", "int"),
        ("transform(xs, x -> x > n)", "array<boolean>"),
        ("ts - INTERVAL 1 HOUR", "timestamp"),
        ("CASE WHEN n > 1 THEN k END", "string"),
        ("named_struct('p', n)", "struct<p:int>"),
        ("map(k, n)", "map<string,int>"),
    ],
)
def test_types_are_what_spark_says(analyst: SparkAnalyst, expression: str, kind: str) -> None:
    assert bind(analyst, f"SELECT {expression} AS x FROM s").schema == Schema((Column("x", kind),))


@pytest.mark.parametrize(
    ("select", "code"),
    [
        ("SELECT foo(n) AS x FROM s", "UNKNOWN_FUNCTION"),
        ("SELECT n FROM s WHERE foo(n)", "UNKNOWN_FUNCTION"),
        (
            "SELECT foo(n) AS x, count(*) AS c FROM s [RANGE 1 MINUTE] GROUP BY n",
            "UNKNOWN_FUNCTION",
        ),
        ("SELECT st.nada AS x FROM s", "UNKNOWN_COLUMN"),
        ("SELECT n.a AS x FROM s", "TYPE_MISMATCH"),
        ("SELECT n + xs AS x FROM s", "TYPE_MISMATCH"),
        ("SELECT upper(xs) AS x FROM s", "TYPE_MISMATCH"),
        ("SELECT n FROM s WHERE n", "TYPE_MISMATCH"),
        ("SELECT n FROM s WHERE k LIKE xs", "TYPE_MISMATCH"),
        ("SELECT sum(xs) AS x FROM s [RANGE 1 MINUTE]", "TYPE_MISMATCH"),
        ("SELECT avg(st) AS x FROM s [RANGE 1 MINUTE]", "TYPE_MISMATCH"),
        ("SELECT max(map(k, n)) AS x FROM s [RANGE 1 MINUTE]", "TYPE_MISMATCH"),
        ("SELECT count(*) AS c FROM s [RANGE 1 MINUTE] GROUP BY 1", "BAD_QUERY"),
        ("SELECT upper(k, k) AS x FROM s", "BAD_QUERY"),
        ("SELECT ts, n FROM s UNION ALL SELECT ts FROM s", "BAD_QUERY"),
        ("SELECT ts FROM s UNION ALL SELECT xs FROM s", "TYPE_MISMATCH"),
        ("SELECT explode(n) AS x FROM s", "TYPE_MISMATCH"),
        ("SELECT n FROM s WHERE explode(xs) > 1", "BAD_QUERY"),
        ("SELECT max_by(n) AS x FROM s [RANGE 1 MINUTE]", "BAD_QUERY"),
        ("SELECT count(*) AS c FROM s [RANGE 1 MINUTE] HAVING c", "TYPE_MISMATCH"),
    ],
)
def test_what_spark_refuses_has_our_code_and_one_line(
    analyst: SparkAnalyst, select: str, code: str
) -> None:
    with pytest.raises(PenstockError) as refused:
        bind(analyst, select)
    assert refused.value.code == code
    assert len(refused.value.message.splitlines()) == 1
    assert "SQLSTATE" not in refused.value.message
    assert not refused.value.message.startswith("[")


def test_what_spark_takes_stands(analyst: SparkAnalyst) -> None:
    for select in (
        "SELECT last(n) FILTER (WHERE n > 1 OR k = 'a') IGNORE NULLS AS x FROM s [RANGE 1 MINUTE]",
        "SELECT explode(xs) AS x FROM s",
        "SELECT mph FROM (SELECT n AS mph FROM s) AS y",
        "SELECT n * 2 AS fast, fast + 1 AS faster, st.b AS b FROM s",
        "SELECT named_struct('z', n) AS p, p.z AS q FROM s",
        "SELECT 1 AS `p, 2 AS q`, n AS `a``b` FROM s",
        "SELECT k, window_end, count(*) AS c FROM s [RANGE 1 MINUTE] GROUP BY ALL HAVING c > 1",
        "SELECT date_trunc('HOUR', window_start) AS h, count(*) AS c FROM s [RANGE 1 MINUTE]",
        "SELECT sum(INTERVAL 1 SECOND * n) AS x FROM s [RANGE 1 MINUTE]",
    ):
        assert bind(analyst, select).schema.names


COMPARED = (
    "n > {0}",
    "n BETWEEN {0} AND {1} OR k = '{1}'",
    "m <> {0}.25 AND n IN ({0}, {1})",
    "count_if(n >= -{0}) AS c",
    "sum(m) FILTER (WHERE upper(k) < '{0}') AS c",
    "max(CASE WHEN m < {0} THEN n END) AS c",
)


@pytest.mark.parametrize("compared", COMPARED)
def test_of_queries_that_differ_in_what_they_compare_with_spark_is_asked_about_one(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, compared: str
) -> None:
    remembering = SparkAnalyst(spark.newSession())
    asked: list[str] = []
    ask = remembering._ask

    def noted(sql: str, leaves: Mapping[str, Schema], meant: Mapping[str, str]) -> Schema:
        asked.append(sql)
        return ask(sql, leaves, meant)

    monkeypatch.setattr(remembering, "_ask", noted)

    def bound(analyst: SparkAnalyst, *constants: int) -> Operator:
        text = compared.format(*constants)
        shown, where = (text, "") if " AS c" in text else ("avg(n) AS c", f"WHERE {text}")
        return bind(analyst, f"SELECT k, {shown} FROM s [RANGE 1 MINUTE] {where} GROUP BY k")

    first = bound(remembering, 5, 7)
    questions = len(asked)
    second = bound(remembering, 6, 9)
    assert len(asked) == questions > 0
    assert second == bound(SparkAnalyst(spark.newSession()), 6, 9) != first


@pytest.mark.parametrize(
    "pair",
    [
        ("round(m, 1)", "round(m, 0)"),
        ("m * 10.5", "m * 1000.25"),
        ("n + 1", "n + 2147483648"),
    ],
)
def test_constants_that_decide_a_type_are_never_taken_for_each_other(
    analyst: SparkAnalyst, pair: tuple[str, str]
) -> None:
    one, other = (bind(analyst, f"SELECT {each} AS x FROM s").schema for each in pair)
    assert one != other


def test_what_was_refused_is_asked_and_refused_again(analyst: SparkAnalyst) -> None:
    for constant in (1, 2):
        with pytest.raises(PenstockError) as refused:
            bind(analyst, f"SELECT n FROM s WHERE xs > {constant}")
        assert refused.value.code == "TYPE_MISMATCH"


def test_only_so_many_answers_are_remembered(spark: SparkSession) -> None:
    forgetful = SparkAnalyst(spark.newSession(), remembered=2)
    for number in range(4):
        forgetful.schema(f"SELECT {number} AS x FROM input", {"input": SCHEMA})
    assert len(forgetful._answers) == 2


def test_several_threads_may_ask_at_once(analyst: SparkAnalyst) -> None:
    found: dict[int, Schema] = {}

    def ask(number: int) -> None:
        leaf = Schema((Column(f"c{number}", "int"),))
        for _ in range(5):
            found[number] = analyst.schema(
                f"SELECT c{number} AS x{number} FROM input", {"input": leaf}
            )

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {n: schema.names for n, schema in found.items()} == {n: (f"x{n}",) for n in range(4)}
