"""A continuous query over finite input gives the rows of the same query as a Spark batch."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.engine.buffers import Bounds
from penstock.runtime import turns
from tests.e2e.oracle.batch import Batch
from tests.e2e.oracle.data import COLUMNS, TABLE, TABLE_DDL, Row, as_table, make_rows
from tests.e2e.oracle.queries import Query, query_sets
from tests.e2e.support import bag, figures, finish, results, rows_of, write_json

pytestmark = pytest.mark.spark

NARROW = Bounds(buffer_bytes=2_000, total_bytes=4_000, keep_bytes=0)
numbers = itertools.count()


@dataclass(frozen=True)
class Cut:
    """How a stream's rows become trains: rows a train of a file, or the sizes of pushes."""

    rows_per_train: int | None
    pushes: tuple[int, ...] = ()


def cuts() -> st.SearchStrategy[Cut]:
    files = st.sampled_from((7, 40, 10_000)).map(Cut)
    sizes = st.lists(st.integers(1, 80), min_size=1, max_size=12)
    return st.one_of(files, sizes.map(lambda each: Cut(None, tuple(each))))


@dataclass(frozen=True)
class Case:
    """Streams, how they are cut, and the queries over them."""

    rows: dict[str, list[Row]]
    cuts: dict[str, Cut]
    queries: list[Query]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    queries = draw(query_sets())
    read = [name for name in ("s", "s2") if any(_reads(query, name) for query in queries)]
    return Case(
        {n: make_rows(draw(st.integers(0, 999)), draw(st.integers(0, 250))) for n in read},
        {name: draw(cuts()) for name in read},
        queries,
    )


def _reads(query: Query, stream: str) -> bool:
    return f"FROM {stream} " in f"{query.stream} "


@pytest.fixture(scope="module")
def batch(spark: SparkSession) -> Batch:
    return Batch(spark)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("oracle")
    write_json(directory / "t.json", TABLE)
    yield directory


def run_and_compare(case: Case, spark: SparkSession, batch: Batch, place: Path) -> None:
    home = place / f"case-{next(numbers)}"
    whole = {name: as_table(rows) for name, rows in case.rows.items()}
    batch.see(whole)
    with penstock.connect(home / "home", spark=spark) as ps:
        ps.script(definitions(case, home, place))
        feed(ps, case, whole)
        finish(ps)
        for query, expected in batch.answers(case.queries):
            compare(ps, query, expected)


def definitions(case: Case, home: Path, place: Path) -> str:
    text = f"CREATE TABLE t ({TABLE_DDL}) FROM files(path => '{place / 't.json'}', format => 'json');"
    for name, cut in case.cuts.items():
        source = "push(rows_per_train => 1)"
        if cut.rows_per_train is not None:
            path = home / f"{name}.json"
            write_json(path, case.rows[name])
            source = (
                f"files(path => '{path}', format => 'json', bounded => true, "
                f"rows_per_train => {cut.rows_per_train})"
            )
        text += (
            f"CREATE STREAM {name} ({COLUMNS.ddl()}) TIMESTAMP BY ts SLACK INTERVAL 10 SECONDS "
            f"FROM {source};"
        )
    for query in case.queries:
        text += f"CREATE QUERY {query.name} AS {query.stream};"
    return text


def feed(ps: Connection, case: Case, whole: dict[str, pa.Table]) -> None:
    for name, cut in case.cuts.items():
        if cut.rows_per_train is None:
            sizes, start = itertools.cycle(cut.pushes), 0
            while start < whole[name].num_rows:
                size = next(sizes)
                ps.push(name, whole[name].slice(start, size))
                start += size
            ps.end(name)


def compare(ps: Connection, query: Query, expected: pa.Table) -> None:
    assert figures(ps, query.name)["state"] == "FINISHED", figures(ps, query.name)
    found = results(ps, query.name)
    assert bag(found) == bag(expected), query.stream
    if found.num_rows:
        assert found.schema.types == expected.schema.types, query.stream


@settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(case=cases())
def test_any_query_over_any_cut_into_trains_equals_the_batch(
    case: Case, spark: SparkSession, batch: Batch, place: Path
) -> None:
    run_and_compare(case, spark, batch, place)
