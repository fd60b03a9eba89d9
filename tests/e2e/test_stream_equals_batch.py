"""A continuous query over finite input gives the rows of the same query as a Spark batch."""

import itertools
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.engine.trains.buffers import BufferBounds
from penstock.engine.trains.rows import SMALL_ROWS
from penstock.runtime.loop.supervisor import Settings
from penstock.runtime.work.run_limits import RunLimits
from tests.e2e.oracle.batch import Batch
from tests.e2e.oracle.data import COLUMNS, TABLE, TABLE_DDL, Row, as_table, make_rows
from tests.e2e.oracle.queries import Query, query_sets
from tests.e2e.support import EACH_TRAIN_ALONE, bag, figures, finish, results, rows_of, write_json
from tests.examples import NIGHTLY, examples

pytestmark = pytest.mark.spark

NARROW = BufferBounds(buffer_bytes=2_000, total_bytes=4_000, keep_bytes=0)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
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
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("oracle")
    write_json(directory / "t.json", TABLE)
    return directory


def run_and_compare(
    case: Case, spark: SparkSession, batch: Batch, place: Path, *, driver_rows: int = SMALL_ROWS
) -> None:
    home = place / f"case-{next(numbers)}"
    whole = {name: as_table(rows) for name, rows in case.rows.items()}
    batch.see(whole)
    told = Settings(limits=RunLimits(driver_rows=driver_rows))
    with penstock.connect(home / "home", spark=spark, settings=told) as ps:
        ps.script(definitions(case, home, place))
        source_reader(ps, case, whole)
        finish(ps)
        for query, expected in batch.answers(case.queries):
            compare(ps, query, expected)


def definitions(case: Case, home: Path, place: Path) -> str:
    text = (
        f"CREATE TABLE t ({TABLE_DDL}) FROM files(path => '{place / 't.json'}', format => 'json');"
    )
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


def source_reader(ps: Connection, case: Case, whole: dict[str, pa.Table]) -> None:
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
    max_examples=examples(20),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(case=cases(), driver_rows=st.sampled_from([SMALL_ROWS, 0, 7]))
def test_any_query_over_any_cut_into_trains_equals_the_batch(
    case: Case, driver_rows: int, spark: SparkSession, batch: Batch, place: Path
) -> None:
    run_and_compare(case, spark, batch, place, driver_rows=driver_rows)


LOOK_ALIKE = (
    # Only brackets, or the last digits of a length, tell them apart: they must not share a node.
    "SELECT n AS c0 FROM s WHERE flag OR n > 0 AND g = 1",
    "SELECT n AS c0 FROM s WHERE (flag OR n > 0) AND g = 1",
    "SELECT n + g AS c0, k AS c1 FROM s WHERE NOT flag AND g = 1",
    "SELECT n + g AS c0, k AS c1 FROM s WHERE NOT (flag AND g = 1)",
    "SELECT n - (g - 1) AS c0 FROM s",
    "SELECT n - g - 1 AS c0 FROM s",
    "SELECT 'n' AS c0 FROM s",
    "SELECT 'N' AS c0 FROM s",
)
WINDOWS = (
    ("RANGE 1000001 SECONDS", "1000001 seconds", "1000001 seconds"),
    ("RANGE 1000002 SECONDS", "1000002 seconds", "1000002 seconds"),
    ("RANGE 20000001 MICROSECONDS", "20000001 microseconds", "20000001 microseconds"),
    ("RANGE 20000002 MICROSECONDS", "20000002 microseconds", "20000002 microseconds"),
    ("RANGE 10 SECONDS SLIDE 4 SECONDS", "10 seconds", "4 seconds"),
    ("RANGE 10 SECONDS SLIDE 6 SECONDS", "10 seconds", "6 seconds"),
)


def test_queries_that_look_alike_keep_their_own_answers(
    spark: SparkSession, batch: Batch, place: Path
) -> None:
    queries = [Query(f"q{at}", text, text) for at, text in enumerate(LOOK_ALIKE)]
    for at, (window, size, slide) in enumerate(WINDOWS):
        queries.append(
            Query(
                f"w{at}",
                f"SELECT window_start AS c0, count(*) AS c1 FROM s [{window}]",
                f"SELECT window.start AS c0, count(*) AS c1 FROM s "
                f"GROUP BY window(ts, '{size}', '{slide}')",
            )
        )
    case = Case({"s": make_rows(7, 300)}, {"s": Cut(60)}, queries)
    run_and_compare(case, spark, batch, place)


def test_a_filter_with_or_holds_for_what_an_aggregate_adds_to_it(
    spark: SparkSession, batch: Batch, place: Path
) -> None:
    where = "flag OR n > 0"
    queries = [
        Query(
            "by_other",
            f"SELECT window_start AS c0, max_by(k, n) FILTER (WHERE {where}) AS c1 "
            "FROM s [RANGE 10 SECONDS]",
            "SELECT window.start AS c0, max_by(k, struct(n, k)) "
            f"FILTER (WHERE ({where}) AND n IS NOT NULL) AS c1 "
            "FROM s GROUP BY window(ts, '10 seconds')",
        ),
        Query(
            "by_time",
            f"SELECT window_start AS c0, first(n, true) FILTER (WHERE {where}) AS c1, "
            f"last(n) FILTER (WHERE {where}) IGNORE NULLS AS c2 FROM s [RANGE 10 SECONDS]",
            "SELECT window.start AS c0, min_by(n, struct(ts, n)) "
            f"FILTER (WHERE ({where}) AND n IS NOT NULL) AS c1, max_by(n, struct(ts, n)) "
            f"FILTER (WHERE ({where}) AND n IS NOT NULL) AS c2 "
            "FROM s GROUP BY window(ts, '10 seconds')",
        ),
    ]
    run_and_compare(Case({"s": make_rows(8, 300)}, {"s": Cut(50)}, queries), spark, batch, place)


# -- many rows ---------------------------------------------------------------------------

# Trains above 10,000 rows go as Parquet through the large session, the others as local relations;
# the small ones in the middle leave more than sixteen parts in the widest window.
PUSHES = (12_000, 500, 11_000, *[300] * 18, 10_001, 11_099)
MANY = (
    Query(
        "kept",
        "SELECT ts, k, n, x FROM s WHERE n % 5 = 0",
        "SELECT ts, k, n, x FROM s WHERE n % 5 = 0",
    ),
    Query(
        "minutes",
        "SELECT window_start AS c0, k AS c1, count(*) AS c2, sum(d) AS c3, avg(x) AS c4, "
        "stddev(x) AS c5, max_by(n, b) AS c6, first(n) AS c7 FROM s [RANGE 1 MINUTE] GROUP BY k",
        "SELECT window.start AS c0, k AS c1, count(*) AS c2, sum(d) AS c3, avg(x) AS c4, "
        "stddev(x) AS c5, max_by(n, struct(b, n)) FILTER (WHERE b IS NOT NULL) AS c6, "
        "min_by(n, struct(ts, n)) AS c7 FROM s GROUP BY window(ts, '1 minute'), k",
    ),
    Query(
        "hours",
        "SELECT window_start AS c0, n AS c1, count(*) AS c2, sum(b) AS c3, var_pop(x) AS c4 "
        "FROM s [RANGE 2 HOURS SLIDE 30 MINUTES] GROUP BY n",
        "SELECT window.start AS c0, n AS c1, count(*) AS c2, sum(b) AS c3, var_pop(x) AS c4 "
        "FROM s GROUP BY window(ts, '2 hours', '30 minutes'), n",
    ),
    Query(
        "rolled",
        "SELECT window_start AS c0, sum(c2) AS c1, count(*) AS c2 FROM minutes [RANGE 10 MINUTES]",
        "SELECT window.start AS c0, sum(c2) AS c1, count(*) AS c2 FROM minutes "
        "GROUP BY window(c0, '10 minutes')",
    ),
)


@pytest.mark.parametrize(
    "bounds",
    [pytest.param(BufferBounds(), marks=NIGHTLY), NARROW],  # what fits is in memory everywhere else
    ids=["in memory", "spilled"],
)
def test_many_rows_in_small_and_large_trains_equal_the_batch_whatever_fits_in_memory(
    bounds: BufferBounds, spark: SparkSession, batch: Batch, tmp_path: Path
) -> None:
    whole = as_table(make_rows(50, sum(PUSHES), minutes=200))
    assert whole.num_rows == 50_000
    batch.see({"s": whole})
    with penstock.connect(tmp_path, spark=spark, bounds=bounds, settings=EACH_TRAIN_ALONE) as ps:
        ps.script(
            f"CREATE STREAM s ({COLUMNS.ddl()}) TIMESTAMP BY ts SLACK INTERVAL 10 SECONDS "
            "FROM push(rows_per_train => 1);"
            + "".join(f"CREATE QUERY {query.name} AS {query.stream};" for query in MANY)
        )
        start = 0
        for size in PUSHES:
            ps.push("s", whole.slice(start, size))
            start += size
        ps.end("s")
        finish(ps)
        for query, expected in batch.answers(MANY):
            compare(ps, query, expected)
            assert figures(ps, query.name)["late_rows"] == 0


# -- late rows ---------------------------------------------------------------------------

SIZE, SLIDE = 20_000_000, 5_000_000  # microseconds
LATE_SLACK = 3_000_000


def test_every_row_is_in_each_of_its_windows_or_among_the_late_ones(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = make_rows(3, 600)
    whole = as_table([row | {"g": place} for place, row in enumerate(rows)])
    trains = [whole.slice(start, 37) for start in range(0, whole.num_rows, 37)]
    with penstock.connect(tmp_path, spark=spark, settings=EACH_TRAIN_ALONE) as ps:
        ps.script(
            f"CREATE STREAM s ({COLUMNS.ddl()}) TIMESTAMP BY ts SLACK INTERVAL 3 SECONDS "
            "FROM push(rows_per_train => 1);"
            "CREATE QUERY tumbling AS SELECT window_start, count(*) AS c, sum(g) AS ids "
            "  FROM s [RANGE 20 SECONDS];"
            "CREATE QUERY sliding AS SELECT window_start, count(*) AS c, sum(g) AS ids "
            "  FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] WHERE g % 2 = 0"
        )
        for train in trains:
            ps.push("s", train)
        ps.end("s")
        finish(ps)
        for query, slide, ids in (
            ("tumbling", SIZE, range(600)),
            ("sliding", SLIDE, range(0, 600, 2)),
        ):
            windows, late = simulate(trains, slide, set(ids))
            found = {
                micros(row["window_start"]): (row["c"], row["ids"])
                for row in results(ps, query).to_pylist()
            }
            assert found == {at: (len(held), sum(held)) for at, held in windows.items()}
            kept = rows_of(ps.sql(f"SELECT g FROM {query}.late").table)
            assert sorted(row["g"] for row in kept) == sorted(late)
            assert figures(ps, query)["late_rows"] == len(late) > 0
            if slide == SIZE:  # each row has one window: it is there, or late
                assert sorted([*late, *(i for held in windows.values() for i in held)]) == [*ids]


def simulate(
    trains: list[pa.Table], slide: int, ids: set[int]
) -> tuple[dict[int, list[int]], list[int]]:
    """Return each window's rows, and the late ones, one row at a time."""
    windows: dict[int, list[int]] = {}
    late: list[int] = []
    high: int | None = None
    for train in trains:
        closed = -(2**62) if high is None else high - LATE_SLACK
        rows = [(micros(row["ts"]), row["g"]) for row in train.to_pylist()]
        for at, number in rows:
            if number not in ids:
                continue
            starts = range(at // slide * slide, at - SIZE, -slide)
            for start in starts:
                if start + SIZE > closed:
                    windows.setdefault(start, []).append(number)
            if any(start + SIZE <= closed for start in starts):
                late.append(number)
        high = max(at for at, _ in rows) if high is None else max(high, *(at for at, _ in rows))
    return windows, late


def micros(at: datetime) -> int:
    return (at - EPOCH) // timedelta(microseconds=1)
