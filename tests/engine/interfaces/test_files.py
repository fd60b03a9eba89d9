import csv
import gzip
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.clock import HandClock
from penstock.engine.interfaces.files import Files
from penstock.engine.interfaces.formats import text as text_module
from penstock.engine.interfaces.interface import Boundary, Surroundings
from penstock.errors import BadOptionError, SourceError, UnknownOptionError
from penstock.model.definitions import Connector, Option, StreamDefinition
from penstock.model.schema import Column, Schema
from tests.examples import examples

pytestmark = pytest.mark.spark

SCHEMA = Schema((Column("ts", "timestamp"), Column("id", "string"), Column("mph", "int")))
MIDNIGHT = datetime(2024, 1, 1, tzinfo=UTC)
Pair = tuple[str, str]
Make = Callable[..., Files]

JSON_LINES = """\
{"ts": "2024-01-01T00:00:00Z", "id": "a", "mph": 1}
{"ts": "2024-01-01T00:00:00Z", "id": "b", "mph": "fast"}

{"ts": "2024-01-01T00:00:00Z", "id": "c"}
{"ts": "2024-01-01T00:00:00Z", "id": "d", "mph": 4
{"id": "e", "mph": 5}
[{"ts": "2024-01-01T00:00:00Z", "id": "f", "mph": 6}]
{"ts": "noon", "id": "g", "mph": 7}
{"ts": "2024-01-01T00:00:00Z", "id": "h", "mph": 99999999999}
{"ts": "2024-01-01T00:00:00Z", "id": "i", "mph": 9, "more": true}
"""
JSON_GOOD = [("a", 1), ("c", None), ("i", 9)]
JSON_REASONS = {
    "b": "mph: 'fast' is not INT",
    "d": "not JSON",
    "e": "ts: the event time is null",
    "f": "not JSON: the line is not one object",
    "g": "ts: 'noon' is not TIMESTAMP",
    "h": "mph: '99999999999' is not INT",
}
CSV_LINES = """\
mph,more,TS,id
1,x,2024-01-01T00:00:00Z,a
fast,x,2024-01-01T00:00:00Z,b

,x,2024-01-01T00:00:00Z,"c,c"
4,x,2024-01-01T00:00:00Z
5,x,,e
6,x,noon,f
7,x,2024-01-01T00:00:00Z,g,h
8,x,2024-01-01T00:00:00Z,i
"""
CSV_GOOD = [("a", 1), ("c,c", None), ("i", 8)]
CSV_REASONS = [
    "mph: 'fast' is not INT",
    "3 fields where 4 are declared",
    "ts: the event time is null",
    "ts: 'noon' is not TIMESTAMP",
    "5 fields where 4 are declared",
]


@pytest.fixture
def make(tmp_path: Path, spark: SparkSession) -> Make:
    """Make unopened files interfaces on one home."""

    def made(path: Path, *, schema: Schema = SCHEMA, **options: Option) -> Files:
        connector = Connector("files", (("path", str(path)), *options.items()))
        definition = StreamDefinition("s", schema, connector, "ts" if schema == SCHEMA else None)
        return Files(definition, Surroundings(spark, HandClock(), tmp_path / "home"))

    return made


def trains(files: Files, after: Boundary | None = None) -> list[Boundary]:
    files.open(after)
    return [offer.boundary for offer in iter(files.next, None)]


def contents(files: Files, boundaries: list[Boundary]) -> tuple[list[Pair], list[Pair]]:
    """Return (id, mph) of the rows and (raw, reason) of the rejects."""
    rows, rejects = [], []
    for boundary in boundaries:
        ingest = files.read(boundary)
        assert isinstance(ingest.rows, pa.Table)
        rows += [(row["id"], row["mph"]) for row in ingest.rows.to_pylist()]
        rejects += ingest.rejects.to_pylist() if ingest.rejects else []
    return rows, [(one["raw"], one["reason"]) for one in rejects]


def put(path: Path, text: str, mtime: int = 1) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    os.utime(path, ns=(mtime, mtime))
    return path


@pytest.mark.parametrize("rows", [None, 1, 4])
def test_json_rows_that_do_not_fit_are_rejects_whatever_the_cut(
    make: Make, tmp_path: Path, rows: int | None
) -> None:
    path = put(tmp_path / "in.json", JSON_LINES)
    files = make(path, format="json", **({"rows_per_train": rows} if rows else {}))
    good, bad = contents(files, trains(files))
    assert good == JSON_GOOD
    assert len(bad) == len(JSON_REASONS)
    for (raw, reason), (name, expected) in zip(bad, JSON_REASONS.items(), strict=True):
        assert f'"id": "{name}"' in raw
        assert reason.startswith(expected)


@pytest.mark.parametrize("rows", [None, 1, 4])
def test_csv_columns_are_found_by_name_and_misfits_are_rejects(
    make: Make, tmp_path: Path, rows: int | None
) -> None:
    path = put(tmp_path / "in.csv", CSV_LINES)
    files = make(path, format="csv", **({"rows_per_train": rows} if rows else {}))
    good, bad = contents(files, trains(files))
    assert good == CSV_GOOD
    assert [reason for _, reason in bad] == CSV_REASONS


def told(files: Files) -> list[tuple[str | None, ...]]:
    """Return column, kind and value of all rejects."""
    tables = [files.read(boundary).rejects for boundary in trains(files)]
    rows = [row for table in tables if table is not None for row in table.to_pylist()]
    return [(row["column"], row["kind"], row["value"]) for row in rows]


def test_what_is_wrong_with_rejects_can_be_counted(make: Make, tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.json", JSON_LINES)
    assert told(make(tmp_path / "in", format="json")) == [
        ("mph", "type", "fast"),
        (None, "syntax", None),
        ("ts", "time", None),
        (None, "syntax", None),
        ("ts", "type", "noon"),
        ("mph", "type", "99999999999"),
    ]


def test_what_is_wrong_with_rejects_of_csv_can_be_counted(make: Make, tmp_path: Path) -> None:
    assert told(make(put(tmp_path / "in.csv", CSV_LINES), format="csv")) == [
        ("mph", "type", "fast"),
        (None, "fields", "3"),
        ("ts", "time", None),
        ("ts", "type", "noon"),
        (None, "fields", "5"),
    ]


CELLS = st.text(st.sampled_from('ab1 ,"\r\n\t\\é雨'), max_size=5)
RECORDS = st.lists(st.tuples(CELLS, st.none() | st.integers(-9, 9)), min_size=20, max_size=60)


@settings(max_examples=examples(25), deadline=None)
@given(RECORDS, st.sampled_from([None, 1, 3]))
def test_what_pythons_csv_has_written_is_read_as_it_was(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, int | None]],
    per_train: int | None,
) -> None:
    here = tmp_path_factory.mktemp("csv")
    with (here / "in.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(["ts", "id", "mph"])
        writer.writerows(["2024-01-01T00:00:00Z", name, mph] for name, mph in rows)
    for multiline in (True, False):
        options = {"path": str(here / "in.csv"), "format": "csv", "multiline": multiline}
        options |= {"rows_per_train": per_train} if per_train else {}
        definition = StreamDefinition("s", SCHEMA, Connector("files", tuple(options.items())), "ts")
        around = Surroundings(spark, HandClock(), here / f"home-{multiline}")
        files = Files(definition, around)
        good, bad = contents(files, trains(files))
        whole = [(name or None, mph) for name, mph in rows if multiline or "\n" not in name]
        assert good == whole
        assert len(bad) == len(rows) - len(whole)


@pytest.mark.parametrize("rows", [None, 1, 4])
def test_whole_numbers_with_a_fraction_fit_where_it_is_lenient(
    make: Make, tmp_path: Path, rows: int | None
) -> None:
    at = '"ts": "2024-01-01T00:00:00Z"'
    lines = [f'{{{at}, "id": "{n}", "mph": {n}.{"5" if n == 3 else "0"}}}' for n in range(6)]
    path = put(tmp_path / "in.json", "\n".join(lines))
    options = {"rows_per_train": rows} if rows else {}
    files = make(path, format="json", lenient=True, **options)
    good, bad = contents(files, trains(files))
    assert good == [(str(n), n) for n in range(6) if n != 3]
    assert [reason for _, reason in bad] == ["mph: '3.5' is not INT"]
    strict = make(path, format="json", **options)
    assert contents(strict, trains(strict))[0] == []


def test_whole_numbers_of_csv_fit_where_it_is_lenient(make: Make, tmp_path: Path) -> None:
    text = (
        'id,mph,ts\n"",2.0,2024-01-01\n"b,b",2.5,2024-01-01\nc,"-1e1",2024-01-01\nd,4,2024-01-01\n'
    )
    files = make(put(tmp_path / "in.csv", text), format="csv", lenient=True)
    good, bad = contents(files, trains(files))
    assert good == [(None, 2), ("c", -10), ("d", 4)]
    assert [reason for _, reason in bad] == ["mph: '2.5' is not INT"]


def test_a_json_number_for_a_timestamp_is_seconds_with_their_fraction(
    make: Make, tmp_path: Path
) -> None:
    numbers = ["1704067200", "1704067200.5", "1704067200.123456789", "1.7040672e9", "-0.5", "1e99"]
    lines = [f'{{"ts": {number}, "id": "{number}", "mph": 1}}' for number in numbers]
    for options in ({}, {"timestamp_format": "dd/MM/yyyy HH:mm"}):
        files = make(put(tmp_path / "in.json", "\n".join(lines)), format="json", **options)
        (boundary,) = trains(files)
        ingest = files.read(boundary)
        assert isinstance(ingest.rows, pa.Table)
        assert ingest.rows["ts"].cast(pa.int64()).to_pylist() == [
            1704067200_000000,
            1704067200_500000,
            1704067200_123456,
            1704067200_000000,
            -500000,
        ]
        assert ingest.rejects is not None
        assert ingest.rejects["value"].to_pylist() == ["1e+99"]


def test_the_rows_are_those_of_sparks_own_readers(
    make: Make, tmp_path: Path, spark: SparkSession
) -> None:
    lines = [line for line in JSON_LINES.splitlines() if not line.startswith("[")]
    path = put(tmp_path / "in.json", "\n".join(lines))
    reader = spark.read.schema(SCHEMA.ddl() + ", bad string")
    reader = reader.option("columnNameOfCorruptRecord", "bad").option("timeZone", "UTC")
    theirs = reader.json(str(path)).toArrow().to_pylist()
    files = make(path, format="json")
    good, bad = contents(files, trains(files))
    assert good == [(r["id"], r["mph"]) for r in theirs if r["bad"] is None and r["ts"]]
    corrupt = [r["bad"] for r in theirs if r["bad"]]
    assert [raw for raw, reason in bad if "null" not in reason] == corrupt


def test_large_trains_take_the_other_way_and_give_the_same(make: Make, tmp_path: Path) -> None:
    count = 30_000
    lines = [f'{{"ts": "2024-01-01T00:00:00Z", "id": "{n}", "mph": {n}}}' for n in range(count)]
    lines[777] = "oops"
    files = make(put(tmp_path / "in.json", "\n".join(lines)), format="json")
    good, bad = contents(files, trains(files))
    assert good == [(str(n), n) for n in range(count) if n != 777]
    assert [raw for raw, _ in bad] == ["oops"]
    assert not list((tmp_path / "home").glob("scratch-*"))


def test_csv_without_a_header_goes_by_position(make: Make, tmp_path: Path) -> None:
    path = put(tmp_path / "in.csv", "2024-01-01 00:00:00;a;1\n")
    files = make(path, format="csv", header=False, delimiter=";")
    assert contents(files, trains(files)) == ([("a", 1)], [])


def test_csv_files_of_different_layout_go_into_one_train(make: Make, tmp_path: Path) -> None:
    put(tmp_path / "in" / "1.csv", "ts,id,mph\n2024-01-01T00:00:00Z,a,1\n", mtime=1)
    put(tmp_path / "in" / "2.csv", "id,mph,ts\nb,2,2024-01-01T00:00:00Z\n", mtime=2)
    put(tmp_path / "in" / "3.csv", "id,ts\nc,2024-01-01T00:00:00Z\n", mtime=3)
    put(tmp_path / "in" / "4.csv", "", mtime=4)
    files = make(tmp_path / "in", format="csv")
    (train,) = trains(files)
    good, bad = contents(files, [train])
    assert good == [("a", 1), ("b", 2)]
    assert [(Path(raw).name, reason.split(": ")[1]) for raw, reason in bad] == [
        ("3.csv", "its header has no column mph")
    ]


def test_timestamps_are_read_by_their_format(make: Make, tmp_path: Path) -> None:
    path = put(tmp_path / "in.json", '{"ts": "31/12/2023 23:00", "id": "a"}\n')
    files = make(path, format="json", timestamp_format="dd/MM/yyyy HH:mm")
    (train,) = trains(files)
    table = files.read(train).rows
    assert isinstance(table, pa.Table)
    assert table["ts"].to_pylist() == [datetime(2023, 12, 31, 23, tzinfo=UTC)]


@pytest.mark.parametrize("options", [{"timestamp_format": "bbb"}, {"schema": "array<int>"}])
def test_what_the_format_cannot_hold_is_told_at_open(
    make: Make, tmp_path: Path, options: dict[str, Any]
) -> None:
    schema = Schema((Column("c", options.pop("schema", "timestamp")),))
    files = make(put(tmp_path / "in.csv", "c\n1\n"), schema=schema, format="csv", **options)
    with pytest.raises(BadOptionError) as raised:
        files.open(None)
    assert raised.value.code == "BAD_OPTION"


def test_lines_that_are_not_utf8_and_files_that_are_gone_are_rejects(
    make: Make, tmp_path: Path
) -> None:
    good = b'{"ts": "2024-01-01T00:00:00Z", "id": "a", "mph": 1}\n'
    put(tmp_path / "in" / "1.json", "", mtime=1).write_bytes(b"\xff\n" + good)
    gone = put(tmp_path / "in" / "2.json", "{}\n")
    files = make(tmp_path / "in", format="json")
    boundaries = trains(files)
    gone.unlink()
    rows, bad = contents(files, boundaries)
    assert rows == [("a", 1)]
    assert {raw for raw, _ in bad} == {"\ufffd", str(gone)}


def test_a_compressed_file_is_one_piece(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "in.json.gz"
    path.write_bytes(gzip.compress(JSON_LINES.encode()))
    files = make(path, format="json", rows_per_train=2)
    boundaries = trains(files)
    assert [len(boundary["pieces"]) for boundary in boundaries] == [1]
    assert contents(files, boundaries)[0] == JSON_GOOD


def test_a_file_larger_than_a_piece_is_cut_at_a_line(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_module, "PIECE_BYTES", 60)
    files = make(put(tmp_path / "in.json", JSON_LINES), format="json")
    (train,) = trains(files)
    assert len(train["pieces"]) > 3
    assert contents(files, [train])[0] == JSON_GOOD


def test_new_files_are_offered_as_they_appear_and_growth_is_not_followed(
    make: Make, tmp_path: Path
) -> None:
    first = put(tmp_path / "in" / "1.json", '{"ts": "2024-01-01T00:00:00Z", "id": "a"}\n')
    files = make(tmp_path / "in", format="json")
    (one,) = trains(files)
    with first.open("a") as file:
        file.write('{"ts": "2024-01-01T00:00:00Z", "id": "b"}\n')
    assert files.next() is None
    put(tmp_path / "in" / "2.json.tmp", "half")
    assert files.next() is None
    put(tmp_path / "in" / "2.json", '{"ts": "2024-01-01T00:00:00Z", "id": "c"}\n')
    two = files.next()
    assert two is not None
    assert contents(files, [one, two.boundary])[0] == [("a", None), ("c", None)]
    assert not files.ended


def test_files_found_and_not_journalled_are_offered_again_in_the_same_order(
    make: Make, tmp_path: Path
) -> None:
    for at in (3, 1, 2):
        put(tmp_path / "in" / f"{at}.json", "{}\n", mtime=10 - at)
    boundaries = trains(make(tmp_path / "in", format="json", files_per_train=1))
    put(tmp_path / "in" / "0.json", "{}\n", mtime=1)
    again = trains(make(tmp_path / "in", format="json", files_per_train=1), boundaries[0])
    assert again[:2] == boundaries[1:]
    assert len(again) == 3


def test_a_bounded_source_holds_what_was_there_at_the_first_open(
    make: Make, tmp_path: Path
) -> None:
    put(tmp_path / "in" / "1.json", "{}\n")
    first = make(tmp_path / "in", format="json", bounded=True)
    (train,) = trains(first)
    assert first.ended
    put(tmp_path / "in" / "2.json", "{}\n")
    again = make(tmp_path / "in", format="json", bounded=True)
    assert trains(again, train) == []
    assert again.ended


def test_a_missing_path_is_an_error_only_before_anything_was_found(
    make: Make, tmp_path: Path
) -> None:
    files = make(tmp_path / "gone.json", format="json")
    with pytest.raises(SourceError) as raised:
        files.open(None)
    assert raised.value.hint
    put(tmp_path / "gone.json", "{}\n")
    (train,) = trains(files)
    (tmp_path / "gone.json").unlink()
    make(tmp_path / "gone.json", format="json", bounded=True).open(train)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, BadOptionError),
        ({"format": "xml"}, BadOptionError),
        ({"format": "json", "rows_per_train": 0}, BadOptionError),
        ({"format": "json", "rows_per_train": 1, "files_per_train": 1}, BadOptionError),
        ({"format": "json", "path": "ftp://host/x"}, BadOptionError),
        ({"format": "csv", "delimiter": "||"}, BadOptionError),
        ({"format": "csv", "delimeter": ";"}, UnknownOptionError),
    ],
)
def test_wrong_options_are_told_without_spark(
    options: dict[str, Option], error: type[Exception]
) -> None:
    given = {"path": "x", **options}
    with pytest.raises(error):
        Files.check(StreamDefinition("s", SCHEMA, Connector("files", tuple(given.items()))))


def parquet(path: Path, **columns: pa.Array) -> Path:
    path.parent.mkdir(exist_ok=True)
    base = {
        "ts": pa.array([MIDNIGHT], pa.timestamp("us", "UTC")),
        "id": pa.array(["a"]),
        "mph": pa.array([1], pa.int32()),
    }
    merged = {name: column for name, column in (base | columns).items() if column is not None}
    pq.write_table(pa.table(merged), path)
    return path


def test_parquet_of_the_right_types_is_read_in_place(
    make: Make, tmp_path: Path, spark: SparkSession
) -> None:
    own = parquet(tmp_path / "in" / "own.parquet", id=pa.array(["a"], pa.large_string()))
    spark.read.parquet(str(own)).write.parquet(str(tmp_path / "sparks"))
    (theirs,) = (tmp_path / "sparks").glob("*.parquet")
    assert pq.read_metadata(theirs).row_group(0).column(0).physical_type == "INT96"
    theirs.rename(tmp_path / "in" / "theirs.parquet")
    files = make(tmp_path / "in", format="parquet")
    (train,) = trains(files)
    paths = files.read(train).rows
    assert isinstance(paths, tuple)
    rows = spark.read.schema(SCHEMA.ddl()).parquet(*map(str, paths)).toArrow().to_pylist()
    assert rows == [{"ts": MIDNIGHT, "id": "a", "mph": 1}] * 2


@pytest.mark.parametrize(
    "columns",
    [
        {"mph": pa.array([1], pa.int16())},
        {"ts": pa.array([MIDNIGHT.replace(tzinfo=None)], pa.timestamp("ns"))},
        {"ts": pa.array([MIDNIGHT], pa.timestamp("ms", "UTC"))},
        {"id": pa.array(["a"]).dictionary_encode(), "mph": pa.array([1], pa.uint16())},
        {"mph": None, "MPH": pa.array([1], pa.int32())},
    ],
)
def test_parquet_of_narrower_types_is_cast(
    make: Make, tmp_path: Path, columns: dict[str, pa.Array]
) -> None:
    files = make(parquet(tmp_path / "in.parquet", **columns), format="parquet")
    (train,) = trains(files)
    ingest = files.read(train)
    assert isinstance(ingest.rows, pa.Table)
    assert ingest.rows.to_pylist() == [{"ts": MIDNIGHT, "id": "a", "mph": 1}]
    assert ingest.rejects is None


@pytest.mark.parametrize("rows", [None, 1])
def test_parquet_that_does_not_fit_is_a_reject_and_the_rest_is_read(
    make: Make, tmp_path: Path, rows: int | None
) -> None:
    bad = {
        "missing.parquet": {"mph": None},
        "other.parquet": {"mph": pa.array(["1"])},
        "wider.parquet": {"mph": pa.array([1], pa.int64())},
    }
    for name, columns in bad.items():
        parquet(tmp_path / "in" / name, **columns)
    put(tmp_path / "in" / "text.parquet", "no parquet")
    parquet(tmp_path / "in" / "good.parquet")
    files = make(tmp_path / "in", format="parquet", **({"rows_per_train": rows} if rows else {}))
    ingests = [files.read(train) for train in trains(files)]
    rejects = [one for ingest in ingests if ingest.rejects for one in ingest.rejects.to_pylist()]
    assert {Path(one["raw"]).name for one in rejects} == {*bad, "text.parquet"}
    good = [ingest.rows for ingest in ingests if len(ingest.rows)]
    assert len(good) == 1
    if rows is None:
        assert good == [(tmp_path / "in" / "good.parquet",)]


def test_parquet_rows_without_a_time_are_rejects(make: Make, tmp_path: Path) -> None:
    times = pa.array([None, MIDNIGHT], pa.timestamp("us", "UTC"))
    path = parquet(
        tmp_path / "in.parquet",
        ts=times,
        id=pa.array(["a", "b"]),
        mph=pa.array([1, 2], pa.int32()),
    )
    files = make(path, format="parquet")
    good, bad = contents(files, trains(files))
    assert good == [("b", 2)]
    assert [json.loads(raw)["id"] for raw, _ in bad] == ["a"]


def test_a_parquet_file_that_changed_after_it_was_offered_is_a_reject(
    make: Make, tmp_path: Path
) -> None:
    path = parquet(tmp_path / "in.parquet")
    files = make(path, format="parquet")
    boundaries = trains(files)
    parquet(path, id=pa.array(["changed"]))
    good, bad = contents(files, boundaries)
    assert good == []
    assert [raw for raw, _ in bad] == [str(path)]
