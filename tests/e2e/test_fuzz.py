"""The fuzzer itself: a small case that is right, and one that is wrong and gets written down."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.e2e.oracle.queries import Query
from tests.fuzz.case import Case, Relation, draw_case
from tests.fuzz.columns import BEGIN, Field
from tests.fuzz.findings import write_finding
from tests.fuzz.judging import Tally, judge
from tests.fuzz.killing import run_killed
from tests.fuzz.running import PLAIN, Variant
from tests.fuzz.shrinking import shrink
from tests.fuzz.windows import told_apart

pytestmark = pytest.mark.spark

SEED, QUERIES = "smoke-90", 2  # few, and each answer has rows
CUT = Variant(train=20, source_reader="files", share=False, strategy="chain")


def test_a_drawn_case_is_answered_as_by_a_spark_batch(spark: SparkSession, tmp_path: Path) -> None:
    tally = Tally()
    case = draw_case(SEED, QUERIES)
    assert judge(spark, case, [PLAIN, CUT], tmp_path / "run", tally) == []
    assert not tally.refusals
    assert tally.counts["comparisons"] == 2 * QUERIES
    assert tally.counts["of them without rows"] == 0


@pytest.fixture(scope="module")
def small() -> Case:
    """Two tuples that meet a table, one of them in vain."""
    seconds = timedelta(seconds=1)
    time, number = Field("ts", "TIMESTAMP", "time", calm=True), Field("n", "INT", "int", calm=True)
    span = Field("over", "INTERVAL DAY TO SECOND", "span", calm=True)
    stream = Relation("s", (time, number), "ts", ((BEGIN, 1), (BEGIN + seconds, 2)))
    table = Relation("t", (number, span), "", ((1, seconds), (2, None)))
    text = "SELECT s.n, t.over FROM s JOIN t ON s.n = t.n AND t.over > make_dt_interval(0, 0, 0, 0)"
    return Case((stream,), table, (Query("q", text, text),))


def test_a_table_has_the_types_that_were_drawn(
    spark: SparkSession, tmp_path: Path, small: Case
) -> None:
    tally = Tally()
    assert judge(spark, small, [PLAIN], tmp_path / "run", tally) == []
    assert tally.counts["rows compared"] == 1


def test_the_command_writes_what_the_fuzzer_compares(
    spark: SparkSession, tmp_path: Path, small: Case
) -> None:
    found = run_killed(spark, small, Variant(train=1, source_reader="files", kills=0), tmp_path)[
        "q"
    ]
    assert isinstance(found, pa.Table), found
    assert found.to_pydict() == {"n": [1], "over": [timedelta(seconds=1)]}


def test_sessions_in_plain_sql_count_a_value_once(spark: SparkSession) -> None:
    rows = (
        "VALUES (0, 'a', 30), (8, 'a', 33), (16, 'a', 30), (27, 'a', 1), (9, 'b', 5) AS t (s, k, x)"
    )
    read = f"(SELECT timestamp_seconds(s) AS ts, k, x FROM {rows})"
    told = told_apart(read, "ts", ["k"], gap=10)
    sums = "SELECT unix_seconds(ws__), unix_seconds(we__), k, sum(DISTINCT x), avg(x)"
    found = spark.sql(f"{sums} FROM {told} GROUP BY ws__, we__, k").collect()
    assert sorted(map(tuple, found)) == [
        (0, 26, "a", 63, 31.0),
        (9, 19, "b", 5, 5.0),
        (27, 37, "a", 1, 1.0),
    ]


def test_a_wrong_answer_is_found_made_smaller_and_written_as_a_script(
    spark: SparkSession, tmp_path: Path
) -> None:
    case = draw_case(SEED, QUERIES)
    *others, right = case.queries  # the last: no other query reads it
    wrong = Query(right.name, right.stream, f"{right.batch} LIMIT 0")
    case = replace(case, queries=(*others, wrong))
    found = judge(spark, case, [PLAIN], tmp_path / "run", Tally())
    assert [(each.query, each.kind) for each in found] == [(wrong.name, "differs")]
    small = shrink(case, lambda smaller: len(smaller.queries) == 1, wrong.name)
    assert [each.name for each in small.queries] == [wrong.name]
    path = write_finding(tmp_path, "smoke", small, found[0])
    compile(path.read_text(), path.name, "exec")
