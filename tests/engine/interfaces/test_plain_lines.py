"""Lines that Arrow reads become what Spark makes of them; all others are left to Spark."""

import json
from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.clock import HandClock
from penstock.engine.interfaces.formats import text
from penstock.engine.interfaces.formats.plain_lines import plain_csv, plain_json
from penstock.engine.interfaces.formats.reader import FileFormat
from penstock.engine.interfaces.interface import Surroundings
from penstock.model.definitions import Connector, StreamDefinition
from penstock.model.schema import Column, Schema
from tests.examples import examples

pytestmark = pytest.mark.spark

SCHEMA = Schema(
    (
        Column("n", "bigint"),
        Column("i", "int"),
        Column("v", "double"),
        Column("k", "string"),
        Column("b", "boolean"),
        Column("ts", "timestamp"),
    )
)
TIMES = st.sampled_from(
    [
        *(
            "2026-01-01T12:00:00Z",
            "2026-01-01 12:00:00",
            "2026-02-28T23:59:59.999999",
            "2026-02-30",
        ),
        *("2026-01-01T12:00:00+01:00", "2026-01-01", "12:00", "1899-12-31T23:59:59Z", "", "now"),
        *("2026-01-01T12:00:00.1234567Z", "1900-01-01T00:00:00.5Z", "2026-01-01T24:00:00", "9999"),
    ]
)
WORDS = st.sampled_from(["", "a", " a", "ä", '"', "\\", "\n", "\t", ",", "5", "null", "\U0001f600"])
NUMBERS = st.one_of(
    st.sampled_from([0, -1, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63)]),
    st.sampled_from([0.0, -0.0, 1.5, 1e308, 5e-324, 1e23, float("nan"), float("inf")]),
    st.floats(),
)
ANYTHING = st.none() | st.booleans() | NUMBERS | WORDS | TIMES | st.just([1]) | st.just({"a": 1})
PLAIN = {
    "n": st.integers(-(2**63), 2**63 - 1),
    "i": st.integers(-(2**31), 2**31 - 1),
    "v": st.floats(allow_nan=False, allow_infinity=False),
    "k": st.text(max_size=5),
    "b": st.booleans(),
    "ts": st.sampled_from(["2026-01-01T12:00:00Z", "1999-12-31 23:59:59.25"]) | TIMES,
}
OBJECTS = st.one_of(
    st.fixed_dictionaries({}, optional={name: st.none() | each for name, each in PLAIN.items()}),
    st.dictionaries(st.sampled_from([*PLAIN, "N", "x"]), ANYTHING, max_size=4),
)
LINES = st.one_of(
    OBJECTS.map(json.dumps),
    OBJECTS.map(lambda each: json.dumps(each, ensure_ascii=False, separators=(",", ":"))),
    st.sampled_from(
        ["", "{}", "{", "[]", '{"n":1}{"n":2}', '{"n":1,"n":2}', '{"n":01}', "{} ", "#"]
    ),
)
CELLS = {
    "n": st.sampled_from(["5", "-7", "+5", "05", "5.0", "0x1F", "9223372036854775808", "1e3", ""]),
    "i": st.sampled_from(["5", "-7", "3000000000", "-0", "1_000", "5L"]),
    "v": st.sampled_from(
        ["1.5", "-0", "1e3", "1E-400", "1e999", "NaN", "Inf", ".5", "5.", "1d", "7"]
    ),
    "k": st.sampled_from(["a", "ä", "null", "NULL", "a b", '"a"', "'", "\\", "", "#", "5"]),
    "b": st.sampled_from(["true", "false", "TRUE", "True", "1", "t", "yes"]),
    "ts": TIMES,
}
EASY = {"n": "5", "i": "-7", "v": "1.5", "k": "a", "b": "true", "ts": "2026-01-01T12:00:00Z"}
ROWS = st.tuples(
    *(st.just(EASY[name]) | st.just(EASY[name]) | each for name, each in CELLS.items())
).map(",".join)
Reader = Callable[[str], text.TextReader]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Reader:
    home = tmp_path_factory.mktemp("home")

    def made(format_: str) -> text.TextReader:
        options = {"format": format_, "header": False, "delimiter": ",", "rows_per_train": None}
        options |= {"timestamp_format": None, "multiline": False, "lenient": False}
        source = Connector("files", (("path", "x"), ("format", format_)))
        definition = StreamDefinition("s", SCHEMA, source, None)
        around = Surroundings(spark, HandClock(0.0), home)
        return text.TextReader(definition, FileFormat.of(options), around)

    return made


def _agrees(read: text.TextReader, lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    held = pa.chunked_array([lines], pa.large_string())
    found = read._parse(held, None)
    with monkeypatch.context() as patch:
        patch.setattr(text, "plain_json", lambda *_: None)
        patch.setattr(text, "plain_csv", lambda *_: None)
        wanted = read._parse(held, None)
    assert found[0].schema.equals(wanted[0].schema)
    assert repr(found[0].to_pylist()) == repr(wanted[0].to_pylist())
    assert (found[1] is None) == (wanted[1] is None)


@settings(max_examples=examples(200), deadline=None)
@given(lines=st.lists(LINES, min_size=1, max_size=4))
def test_json_is_what_spark_makes_of_it(reader: Reader, lines: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        _agrees(reader("json"), lines, patch)


@settings(max_examples=examples(200), deadline=None)
@given(lines=st.lists(ROWS, min_size=1, max_size=2))
def test_csv_is_what_spark_makes_of_it(reader: Reader, lines: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        _agrees(reader("csv"), lines, patch)


def test_plain_lines_need_no_spark() -> None:
    line = json.dumps({"n": 5, "v": 1.5, "k": "a", "b": True, "ts": "2026-01-01T12:00:00Z", "x": 1})
    found = plain_json(pa.chunked_array([[line] * 3], pa.large_string()), SCHEMA)
    assert found is not None
    assert found.num_rows == 3
    cells = pa.chunked_array([[",".join(EASY.values())] * 3], pa.large_string())
    assert plain_csv(cells, SCHEMA.names, SCHEMA, ",") is not None
