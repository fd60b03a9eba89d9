import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import WireError
from penstock.server.pg.values import types
from penstock.server.pg.values.encode import encoder, json_text
from penstock.server.pg.values.parameters import (
    Parameter,
    postgres_literal,
    read_parameter,
    spark_literal,
)
from penstock.server.pg.values.types import (
    ARRAY_OF,
    TYPES,
    PgType,
    column_of_arrow,
    column_of_spark,
    type_of_arrow,
    type_of_spark,
)

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
MOMENTS = st.datetimes(timezones=st.just(UTC)).map(lambda moment: moment.replace(tzinfo=None))
NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, places=4, max_value=10**15) | (
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12)
).map(lambda number: round(number, 9))
OF: dict[PgType, st.SearchStrategy[Any]] = {
    types.BOOL: st.booleans(),
    types.INT2: st.integers(-(2**15), 2**15 - 1),
    types.INT4: st.integers(-(2**31), 2**31 - 1),
    types.INT8: st.integers(-(2**63), 2**63 - 1),
    types.FLOAT8: st.floats(allow_nan=False),
    types.FLOAT4: st.floats(allow_nan=False, width=32),
    types.NUMERIC: NUMBERS,
    types.TEXT: TEXTS,
    types.BYTEA: st.binary(max_size=12),
    types.DATE: st.dates(),
    types.TIMESTAMP: MOMENTS,
    types.TIMESTAMPTZ: st.datetimes(timezones=st.just(UTC)),
}
SCALARS = st.sampled_from(sorted(OF, key=lambda type_: type_.oid)).flatmap(
    lambda type_: st.tuples(st.just(type_), OF[type_])
)
ARRAYS = st.sampled_from(sorted(OF, key=lambda type_: type_.oid)).flatmap(
    lambda type_: st.tuples(st.just(ARRAY_OF[type_]), st.lists(st.none() | OF[type_], max_size=4))
)


@given(SCALARS | ARRAYS, st.sampled_from([0, 1]))
def test_what_is_sent_is_read_again_in_either_format(sent: tuple[PgType, Any], form: int) -> None:
    type_, value = sent
    data = encoder(type_, form)(value)
    assert read_parameter(type_.oid, form, data) == Parameter(type_, value)


@given(st.timedeltas(timedelta(days=-9999), timedelta(days=9999)))
def test_an_interval_is_read_again_from_bytes(length: timedelta) -> None:
    data = encoder(types.INTERVAL, 1)(length)
    assert read_parameter(types.INTERVAL.oid, 1, data).value == length


@given(st.sampled_from(sorted(TYPES)), st.sampled_from([0, 1]), st.binary(max_size=20))
def test_whatever_a_client_sends_is_a_value_or_refused(oid: int, form: int, data: bytes) -> None:
    try:
        parameter = read_parameter(oid, form, data)
    except WireError as error:
        assert error.state == "22P02"  # noqa: PT017  (only what is refused has an error)
    else:
        assert isinstance(postgres_literal(parameter), str)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("inf"), b"Infinity"),
        (float("-inf"), b"-Infinity"),
        (float("nan"), b"NaN"),
        (1.0, b"1"),
        (0.1, b"0.1"),
    ],
)
def test_floats_are_written_as_postgresql_does(value: float, text: bytes) -> None:
    assert encoder(types.FLOAT8, 0)(value) == text
    assert encoder(types.FLOAT4, 0)(value) == text


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), b"2026-01-02 03:04:05+00"),
        (datetime(2026, 1, 2, 3, 4, 5, 600000, tzinfo=UTC), b"2026-01-02 03:04:05.6+00"),
        (datetime.fromisoformat("2026-01-02T03:04:05.000006"), b"2026-01-02 03:04:05.000006"),
        (datetime.fromisoformat("0033-01-02"), b"0033-01-02 00:00:00"),
    ],
)
def test_times_are_written_in_utc(moment: datetime, text: bytes) -> None:
    type_ = types.TIMESTAMPTZ if moment.tzinfo else types.TIMESTAMP
    assert encoder(type_, 0)(moment) == text


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], "{}"),
        ([1, None], "{1,NULL}"),
        (["a b", 'c"d\\', "", "null", None], '{"a b","c\\"d\\\\","","null",NULL}'),
    ],
)
def test_arrays_are_written_as_postgresql_does(values: list[Any], text: str) -> None:
    element = types.INT8 if values and isinstance(values[0], int) else types.TEXT
    assert encoder(ARRAY_OF[element], 0)(values).decode() == text


def test_rows_and_maps_are_json() -> None:
    value = {"at": datetime(2026, 1, 2, tzinfo=UTC), "d": Decimal("1.50"), "xs": [b"a", None]}
    read = json.loads(json_text(value))
    assert read == {"at": "2026-01-02T00:00:00+00:00", "d": "1.50", "xs": ["YQ==", None]}


@pytest.mark.parametrize(
    ("arrow", "spark"),
    [
        (pa.bool_(), "boolean"),
        (pa.int8(), "tinyint"),
        (pa.int64(), "bigint"),
        (pa.float32(), "float"),
        (pa.decimal128(10, 2), "decimal(10,2)"),
        (pa.string(), "string"),
        (pa.binary(), "binary"),
        (pa.date32(), "date"),
        (pa.timestamp("us", "UTC"), "timestamp"),
        (pa.timestamp("us"), "timestamp_ntz"),
        (pa.list_(pa.string()), "array<string>"),
        (pa.list_(pa.list_(pa.int32())), "array<array<int>>"),
        (pa.struct([("a", pa.int32())]), "struct<a:int>"),
        (pa.map_(pa.string(), pa.int32()), "map<string,int>"),
        (pa.list_(pa.struct([("a", pa.int32())])), "array<struct<a:int>>"),
        (pa.duration("us"), "interval day to second"),
    ],
)
def test_a_column_is_told_alike_from_its_definition_and_its_rows(
    arrow: pa.DataType, spark: str
) -> None:
    assert type_of_arrow(arrow) == type_of_spark(spark)
    assert column_of_arrow(pa.field("c", arrow)) == column_of_spark("c", spark)


@pytest.mark.parametrize(
    ("oid", "text", "written"),
    [
        (0, "it's \\ $1; --", "'it\\'s \\\\ $1; --'"),
        (types.INT4.oid, "-5", "(-5)"),
        (types.NUMERIC.oid, "-1.50", "CAST('-1.50' AS DECIMAL(3, 2))"),
        (types.NUMERIC.oid, "0.001", "CAST('0.001' AS DECIMAL(4, 3))"),
        (types.FLOAT8.oid, "-Infinity", "CAST('-Infinity' AS DOUBLE)"),
        (types.BOOL.oid, "on", "TRUE"),
        (types.BYTEA.oid, "\\x00ff", "X'00ff'"),
        (types.DATE.oid, "2026-01-02", "DATE '2026-01-02'"),
        (
            types.TIMESTAMPTZ.oid,
            "2026-01-02 03:04:05+01",
            "TIMESTAMP '2026-01-02 02:04:05+00:00'",
        ),
        (ARRAY_OF[types.TEXT].oid, '{a,NULL,"b\'"}', "array('a', CAST(NULL AS STRING), 'b\\'')"),
    ],
)
def test_a_parameter_is_written_anew_as_a_literal(oid: int, text: str, written: str) -> None:
    assert spark_literal(read_parameter(oid, 0, text.encode())) == written


def test_no_value_is_null_of_its_type() -> None:
    assert spark_literal(read_parameter(types.INT8.oid, 1, None)) == "CAST(NULL AS BIGINT)"
    assert spark_literal(read_parameter(0, 0, None)) == "NULL"


@given(st.dates())
def test_days_count_from_the_year_2000(day: date) -> None:
    counted = int.from_bytes(encoder(types.DATE, 1)(day), "big", signed=True)
    assert counted == (day - date(2000, 1, 1)).days


def test_values_that_would_fill_the_memory_or_the_stack_are_refused() -> None:
    number = read_parameter(types.NUMERIC.oid, 0, b"1e999999999")
    with pytest.raises(WireError):
        spark_literal(number)
    with pytest.raises(WireError):
        read_parameter(types.JSON.oid, 0, b"[" * 100_000)
