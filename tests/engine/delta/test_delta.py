"""Delta Lake: rows once whoever dies, tables as they are, streams of what versions add."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from penstock.clock import HandClock
from penstock.engine.allowed import Allowed
from penstock.engine.interfaces.interface import Surroundings
from penstock.engine.interfaces.lake.delta import Delta
from penstock.engine.sinks.delta.delta import DeltaSink
from penstock.engine.sinks.sink import Delivery, SinkSurroundings
from penstock.engine.table_sources.delta import DeltaTableSource
from penstock.errors import BadOptionError, NotAllowedError, SinkError, SourceError
from penstock.model.definitions import (
    Connector,
    Option,
    QueryDefinition,
    StreamDefinition,
    TableDefinition,
)
from penstock.model.schema import Column, Schema
from tests.contracts.sink_laws import SINK_LAWS, SinkCase
from tests.contracts.source_laws import (
    FRESH_SOURCE_LAWS,
    ROWS,
    SOURCE_LAWS,
    Case,
    Source,
    connector,
    drained_of,
    source_of,
)
from tests.examples import IS_WHOLE

MOST_KILLS = 200 if IS_WHOLE else 5  # of the lines of the sink's code
ARROW = pa.schema([("ts", pa.timestamp("us", "UTC")), ("id", "string"), ("mph", "int32")])
NUMBERS = Schema((Column("n", "bigint"), Column("place", "string")))


def sink(path: Path, allowed: Allowed | None = None, query: str = "q", **more: Option) -> DeltaSink:
    into = Connector("delta", tuple(({"path": str(path)} | more).items()))
    definition = QueryDefinition(query, "SELECT 1", sink=into)
    may = allowed if allowed is not None else Allowed(writable=frozenset({str(path.parent)}))
    return DeltaSink(definition, SinkSurroundings(lambda: "home", lambda: may))


def rows(*numbers: int) -> pa.Table:
    return pa.table({"n": list(numbers), "place": [f"p{n % 2}" for n in numbers]})


def written(path: Path, **options: Option) -> DeltaSink:
    made = sink(path, **options)
    made.open()
    made.write(Delivery("q", 1, rows(1, 2, 3)))
    return made


def seen(path: Path) -> list[dict[str, Any]]:
    table = DeltaTable(path).to_pyarrow_table().to_pylist()
    return sorted(table, key=lambda row: row.get("n") or 0)


@pytest.mark.timeout(1800)  # with two hundred kills
@pytest.mark.parametrize("law", SINK_LAWS, ids=lambda law: law.__name__)
def test_the_sink_keeps(law: Callable[[SinkCase, Path], None], tmp_path: Path) -> None:
    def definition(place: int) -> QueryDefinition:
        options = (("path", str(tmp_path / f"t{place}")), ("partition_by", "car"))
        return QueryDefinition("q", "SELECT 1", sink=Connector("delta", options))

    def look(place: int) -> object:
        found = DeltaTable(tmp_path / f"t{place}").to_pyarrow_table().to_pylist()
        return sorted(found, key=lambda row: row["car"])

    allowed = Allowed(writable=frozenset({str(tmp_path)}))
    law(SinkCase(definition, look, allowed, most_kills=MOST_KILLS), tmp_path)


def test_a_table_is_made_with_its_partitions_and_numbers_are_each_querys(tmp_path: Path) -> None:
    path = tmp_path / "t"
    written(path, partition_by="place")
    other = sink(path, query="other")
    other.open()
    other.write(Delivery("other", 1, rows(4)))
    assert [row["n"] for row in seen(path)] == [1, 2, 3, 4]
    assert DeltaTable(path).metadata().partition_columns == ["place"]
    assert DeltaTable(path).transaction_version("penstock/home/other") == 1


def test_every_type_comes_back_as_it_was(tmp_path: Path) -> None:
    noon = datetime(2026, 1, 1, 12, 0, 0, 5, tzinfo=UTC)
    table = pa.table(
        {
            "flag": [True, None],
            "small": pa.array([1, -2], pa.int8()),
            "x": [1.5, None],
            "price": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
            "said": ["a", None],
            "raw": [b"\x00", None],
            "day": [date(2026, 1, 1), None],
            "at": pa.array([noon, None], pa.timestamp("us", "UTC")),
            "tags": [["a", None], None],
            "point": [{"x": 1}, None],
        }
    )
    made = sink(tmp_path / "t")
    made.open()
    made.write(Delivery("q", 1, table))
    made.write(Delivery("q", 2, table))
    found = DeltaTable(tmp_path / "t").to_pyarrow_table().to_pylist()
    assert found == table.to_pylist() * 2


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pa.table({"n": [4], "more": [1]}), "no column more"),
        (pa.table({"n": ["4"], "place": ["x"]}), "column n"),
        (pa.table({"n": [4.5], "place": ["x"]}), "column n"),
        (pa.table({"n": [4], "place": [5]}), "column place"),
    ],
)
def test_rows_that_do_not_fit_are_told_and_nothing_of_them_stays(
    table: pa.Table, words: str, tmp_path: Path
) -> None:
    made = written(tmp_path / "t")
    with pytest.raises(SinkError, match=words):
        made.write(Delivery("q", 2, table))
    made.write(Delivery("q", 2, pa.table({"N": pa.array([4], pa.int16())})))
    assert [row["n"] for row in seen(tmp_path / "t")] == [1, 2, 3, 4]


def test_columns_are_added_where_that_is_wanted(tmp_path: Path) -> None:
    written(tmp_path / "t")
    made = sink(tmp_path / "t", add_columns=True)
    made.open()
    made.write(Delivery("q", 2, pa.table({"n": [4], "more": [1.5]})))
    assert seen(tmp_path / "t")[-1] == {"n": 4, "place": None, "more": 1.5}


def test_deliveries_that_the_journal_has_lost_are_not_taken_for_others(tmp_path: Path) -> None:
    written(tmp_path / "t")
    older = sink(tmp_path / "t")
    older.expect(0)
    with pytest.raises(SinkError, match="delivery 1"):
        older.open()


def test_a_directory_that_may_not_be_written_or_is_no_table_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotAllowedError):
        sink(tmp_path / "t", Allowed()).open()
    with pytest.raises(SinkError, match="no table"):
        written(tmp_path / "t", create=False)
    (tmp_path / "file").write_text("no directory")
    with pytest.raises(SinkError):
        written(tmp_path / "file")


def test_a_table_is_read_as_it_is_and_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "t"
    made = written(path)

    def source(schema: Schema | None = None, **more: Option) -> DeltaTableSource:
        options = Connector("delta", tuple(({"path": str(path)} | more).items()))
        return DeltaTableSource(TableDefinition("t", options, schema), Allowed)

    now, then = source(), source(version=0)
    before = now.seen(), then.seen()
    assert now.read().num_rows == 3
    made.write(Delivery("q", 2, rows(4)))
    assert (now.seen() == before[0], then.seen() == before[1]) == (False, True)
    assert (now.read().num_rows, then.read().num_rows) == (4, 3)
    for wrong in (source(version=9), source(path=str(tmp_path / "nowhere"))):
        with pytest.raises(SourceError):
            wrong.read()


def put(path: Path, at: int, count: int, mode: str = "append") -> None:
    table = pa.Table.from_pylist(ROWS[at : at + count], schema=ARROW)
    write_deltalake(path, table, mode=cast(Any, mode), partition_by=["id"])


def lake(place: Path, **more: Option) -> Case:
    if not (place / "t").exists():
        for at in (0, 2):
            put(place / "t", at, 2)
    bounded = bool(more.get("bounded"))

    def feed(_: object) -> None:
        for at in range(4, 12, 4):
            put(place / "t", at, 4)

    if bounded:
        feed(None)
    options: dict[str, Option] = {"path": str(place / "t"), "files_per_train": 3} | more
    return Case(
        lambda _: connector("delta", **options), feed if not bounded else lambda _: None, bounded
    )


@pytest.mark.spark
@pytest.mark.parametrize("bounded", [True, False])
def test_it_keeps_the_laws_of_what_was_drained(
    bounded: bool, tmp_path: Path, spark: SparkSession
) -> None:
    case = lake(tmp_path, bounded=bounded)
    drained = drained_of(source_of(case, tmp_path, spark), spark)
    for law in SOURCE_LAWS:
        law(drained)


@pytest.mark.spark
@pytest.mark.parametrize("law", FRESH_SOURCE_LAWS, ids=lambda law: law.__name__)
def test_a_fresh_source_keeps(
    law: Callable[[Source], None], tmp_path: Path, spark: SparkSession
) -> None:
    law(source_of(lake(tmp_path), tmp_path, spark))


@pytest.fixture
def stream(tmp_path: Path, spark: SparkSession) -> Callable[..., Delta]:
    """Make open streams of numbers over the table `t`."""

    def made(schema: Schema = NUMBERS, after: Any = None, **more: Option) -> Delta:
        options = Connector("delta", tuple(({"path": str(tmp_path / "t")} | more).items()))
        definition = StreamDefinition("s", schema, options)
        Delta.check(definition)
        source = Delta(definition, Surroundings(spark, HandClock(7.0), tmp_path / "home"))
        source.open(after)
        return source

    return made


def taken(source: Delta) -> list[int]:
    found: list[int] = []
    while (offer := source.next()) is not None:
        found += [row["n"] for row in source.read(offer.boundary).rows.to_pylist()]  # type: ignore[union-attr]
    return found


@pytest.mark.spark
def test_only_what_later_versions_add_comes_where_that_is_wanted(
    stream: Callable[..., Delta], tmp_path: Path
) -> None:
    made = written(tmp_path / "t")
    source = stream(after_version=0)
    assert taken(source) == []
    made.write(Delivery("q", 2, rows(4)))
    DeltaTable(tmp_path / "t").optimize.compact()  # no new rows
    made.write(Delivery("q", 3, rows(5)))
    assert taken(source) == [4, 5]


@pytest.mark.spark
def test_rows_that_are_taken_away_are_told_and_can_be_left_out(
    stream: Callable[..., Delta], tmp_path: Path
) -> None:
    written(tmp_path / "t")
    source = stream()
    assert taken(source) == [1, 2, 3]
    DeltaTable(tmp_path / "t").delete("n = 2")
    with pytest.raises(SourceError, match="version 1"):
        source.next()
    wide = stream(ignore_removals=True, after=None)
    assert taken(wide)[:3] == [1, 2, 3]


@pytest.mark.spark
def test_columns_come_and_types_that_do_not_fit_are_told(
    stream: Callable[..., Delta], tmp_path: Path
) -> None:
    written(tmp_path / "t")
    more = sink(tmp_path / "t", add_columns=True)
    more.open()
    more.write(Delivery("q", 2, pa.table({"n": [4], "x": [1.5]})))
    wide = Schema((*NUMBERS, Column("x", "double")))
    source = stream(wide)
    found: list[Any] = []
    while (offer := source.next()) is not None:
        found += source.read(offer.boundary).rows.to_pylist()  # type: ignore[union-attr]
    assert sorted((row["n"], row["x"]) for row in found)[-1] == (4, 1.5)
    assert {row["x"] for row in found if row["n"] < 4} == {None}
    with pytest.raises(SourceError, match="n is int64"):
        taken(stream(Schema((Column("n", "string"),))))


@pytest.mark.spark
def test_files_that_somebody_has_removed_are_told(
    stream: Callable[..., Delta], tmp_path: Path
) -> None:
    written(tmp_path / "t")
    source = stream()
    offer = source.next()
    assert offer is not None
    for file in (tmp_path / "t").glob("*.parquet"):
        file.unlink()
    with pytest.raises(SourceError, match="cannot be read"):
        source.read(offer.boundary)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("schema", "options"),
    [
        (NUMBERS, {"bounded": True, "after_version": 1}),
        (NUMBERS, {"after_version": -1}),
        (Schema((Column("v", "float vector"),)), {}),
    ],
)
def test_bad_options_are_told_before_anything_is_opened(
    schema: Schema, options: dict[str, Option]
) -> None:
    given = Connector("delta", tuple(({"path": "t"} | options).items()))
    with pytest.raises(BadOptionError):
        Delta.check(StreamDefinition("s", schema, given))
