"""Sets of queries: seeded, of the kinds that they are called, and alike in every dialect."""

import re
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks.many import flink_sql, penstock_sql, spark_sql
from benchmarks.many.kinds import KINDS, SLIDES, query_set
from benchmarks.many.queries import (
    Condition,
    Query,
    StreamJoin,
    TableJoinAggregate,
    Window,
    WindowAggregate,
)
from penstock.sql import parse

COUNT = 60


def aggregates_of(kind: str) -> list[WindowAggregate]:
    found = [each for each in query_set(kind, COUNT) if isinstance(each, WindowAggregate)]
    assert len(found) == COUNT
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_queries_again(kind: str) -> None:
    assert query_set(kind, COUNT) == query_set(kind, COUNT)
    assert query_set(kind, COUNT) != query_set(kind, COUNT, seed=5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_larger_set_begins_with_the_smaller_one(kind: str) -> None:
    assert query_set(kind, COUNT)[:10] == query_set(kind, 10)


@pytest.mark.parametrize("kind", KINDS)
def test_queries_have_names_of_their_own(kind: str) -> None:
    assert len({each.name for each in query_set(kind, 1_000)}) == 1_000


def test_other_windows_differ_in_windows_and_not_in_keys() -> None:
    found = aggregates_of("windows")
    assert {each.keys for each in found} == {("road",)}
    assert len({each.window for each in found}) > COUNT // 3
    assert all(each.window.size <= 60 and 60 % each.window.slide == 0 for each in found)


def test_other_predicates_differ_in_predicates_only() -> None:
    found = aggregates_of("predicates")
    assert len({(each.window, each.keys, each.aggregates) for each in found}) == 1
    assert len({each.where for each in found}) > COUNT // 2


def test_other_keys_are_subsets_of_the_keys() -> None:
    found = aggregates_of("keys")
    assert {each.window for each in found} == {Window(10, 10)}
    assert len({each.keys for each in found}) > 8


def test_thresholds_differ_in_one_constant_of_where_or_having() -> None:
    found = aggregates_of("thresholds")
    assert all((each.more_than is None) == bool(each.where) for each in found)
    constants = [each.more_than or each.where[0].values for each in found]
    assert len(set(constants)) > COUNT * 0.9
    assert any(each.more_than for each in found)


def test_six_mixed_queries_have_both_joins() -> None:
    found = query_set("mixed", 6)
    assert any(isinstance(each, TableJoinAggregate) for each in found)
    assert any(isinstance(each, StreamJoin) for each in found)


def test_every_slide_divides_a_minute() -> None:
    assert all(60 % slide == 0 for slide in SLIDES)
    assert all(one < other for one, other in pairwise(SLIDES))


def test_a_window_that_flink_has_not_is_refused() -> None:
    with pytest.raises(AssertionError):
        Window(10, 4)


@pytest.mark.parametrize("kind", KINDS)
def test_penstock_reads_every_query(kind: str) -> None:
    text = "".join(map(penstock_sql.create, query_set(kind, COUNT)))
    assert len(parse(text)) == COUNT


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dialect", [penstock_sql, spark_sql, flink_sql])
def test_every_dialect_gives_the_columns_of_the_record_in_order(
    kind: str, dialect: ModuleType
) -> None:
    for query in query_set(kind, COUNT):
        chosen = dialect.select(query).partition(" FROM ")[0]
        named = (
            re.sub(r"\((?:[^()]|\([^()]*\))*\)|`", "", chosen).removeprefix("SELECT ").split(", ")
        )
        assert [each.split()[-1].rpartition(".")[2] for each in named] == list(query.columns)


ASKED: Query = WindowAggregate(
    "q",
    Window(60, 20),
    ("bucket", "type"),
    ("cars", "sum_weight"),
    (Condition("road", "IN", (1, 2)), Condition("weight", "BETWEEN", (5, 9))),
    more_than=3,
)


def test_an_aggregate_in_penstocks_sql() -> None:
    assert penstock_sql.select(ASKED) == (
        "SELECT window_start, window_end, substring(car, 1, 2) AS bucket, type AS type, "
        "count(*) AS cars, sum(weight) AS sum_weight "
        "FROM traffic [RANGE 60 SECONDS SLIDE 20 SECONDS] "
        "WHERE road IN (1, 2) AND weight BETWEEN 5 AND 9 "
        "GROUP BY substring(car, 1, 2), type HAVING count(*) > 3"
    )


def test_an_aggregate_in_sparks_sql() -> None:
    assert spark_sql.select(ASKED) == (
        "SELECT window.start AS window_start, window.end AS window_end, "
        "substring(car, 1, 2) AS bucket, type AS type, "
        "count(*) AS cars, sum(weight) AS sum_weight FROM traffic "
        "WHERE road IN (1, 2) AND weight BETWEEN 5 AND 9 "
        "GROUP BY window(ts, '60 seconds', '20 seconds'), substring(car, 1, 2), type "
        "HAVING count(*) > 3"
    )


def test_an_aggregate_in_flinks_sql() -> None:
    assert flink_sql.select(ASKED) == (
        "SELECT window_start, window_end, substring(car, 1, 2) AS `bucket`, `type` AS `type`, "
        "count(*) AS cars, sum(CAST(weight AS BIGINT)) AS sum_weight "
        "FROM TABLE(HOP(TABLE traffic, DESCRIPTOR(ts), INTERVAL '20' SECOND, "
        "INTERVAL '60' SECOND)) WHERE road IN (1, 2) AND weight BETWEEN 5 AND 9 "
        "GROUP BY window_start, window_end, substring(car, 1, 2), `type` HAVING count(*) > 3"
    )


def test_a_flink_sink_is_files_or_nothing() -> None:
    assert "'blackhole'" in flink_sql.sink(ASKED, None)
    assert "'csv'" in flink_sql.sink(ASKED, Path("/tmp/out"))
