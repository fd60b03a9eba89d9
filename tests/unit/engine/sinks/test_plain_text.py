import base64
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.sinks.plain_text import plain_text

UTC_TIME = pa.timestamp("us", tz="UTC")
LOCAL_TIME = pa.timestamp("us")
DAYTIME = pa.duration("us")
DEEP = pa.decimal128(38, 18)


def text_of(value: Any, kind: pa.DataType) -> str | None:
    (text,) = plain_text(pa.array([value], kind)).to_pylist()
    return None if text is None else str(text)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (-(2**63), pa.int64(), "-9223372036854775808"),
        (2**64 - 1, pa.uint64(), "18446744073709551615"),
        (True, pa.bool_(), "true"),
        (False, pa.bool_(), "false"),
        (1.0, pa.float64(), "1.0"),
        (-0.0, pa.float64(), "-0.0"),
        (0.1, pa.float64(), "0.1"),
        (0.1, pa.float32(), "0.1"),
        (0.5, pa.float16(), "0.5"),
        (1e300, pa.float64(), "1e+300"),
        (5e-324, pa.float64(), "5e-324"),
        (float("nan"), pa.float64(), "NaN"),
        (float("inf"), pa.float64(), "Infinity"),
        (float("-inf"), pa.float32(), "-Infinity"),
        (Decimal("1.50"), pa.decimal128(10, 2), "1.50"),
        (Decimal("-0.05"), pa.decimal128(10, 2), "-0.05"),
        (Decimal("12"), pa.decimal128(10, 0), "12"),
        (Decimal(0), DEEP, "0.000000000000000000"),
        (Decimal("1E-18"), DEEP, "0.000000000000000001"),
        (Decimal("9" * 20 + "." + "9" * 18), DEEP, "9" * 20 + "." + "9" * 18),
        (Decimal("-1E-18"), pa.decimal256(76, 18), "-0.000000000000000001"),
        (Decimal("1.5"), pa.decimal32(5, 1), "1.5"),
        (Decimal("1200"), pa.decimal128(5, -2), "1200"),
        (date(2026, 1, 31), pa.date32(), "2026-01-31"),
        (date(1, 1, 1), pa.date32(), "0001-01-01"),
        (datetime(2026, 1, 1, tzinfo=UTC), UTC_TIME, "2026-01-01T00:00:00Z"),
        (datetime(2026, 1, 1, 0, 0, 0, 500_000, UTC), UTC_TIME, "2026-01-01T00:00:00.5Z"),
        (datetime(2026, 1, 1, 0, 0, 0, 1, UTC), UTC_TIME, "2026-01-01T00:00:00.000001Z"),
        (datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC), UTC_TIME, "1969-12-31T23:59:59.999Z"),
        (datetime(2026, 1, 1, 10, 20, 30), LOCAL_TIME, "2026-01-01T10:20:30"),  # noqa: DTZ001
        (datetime(2026, 1, 1, 10, 0), pa.timestamp("s"), "2026-01-01T10:00:00"),  # noqa: DTZ001
        (time(10, 20, 30, 500_000), pa.time64("ns"), "10:20:30.5"),
        (time(10, 20), pa.time64("us"), "10:20:00"),
        (timedelta(minutes=90), DAYTIME, "PT5400S"),
        (timedelta(seconds=-1.5), DAYTIME, "PT-1.5S"),
        (timedelta(0), DAYTIME, "PT0S"),
        (timedelta(seconds=10), pa.duration("s"), "PT10S"),
        (pa.MonthDayNano([14, 3, 1_500_000_000]), pa.month_day_nano_interval(), "P14M3DT1.5S"),
        ('say "hi"\n', pa.string(), 'say "hi"\n'),
        ("wide", pa.large_string(), "wide"),
        ("seen", pa.string_view(), "seen"),
        (b"\x00\xff", pa.binary(), "AP8="),
        (b"", pa.large_binary(), ""),
        (b"abcd", pa.binary(4), "YWJjZA=="),
    ],
)
def test_a_value_reads_as_the_convention_says(value: Any, kind: pa.DataType, text: str) -> None:
    assert text_of(value, kind) == text


@pytest.mark.parametrize(
    "kind",
    [
        pa.null(),
        pa.int32(),
        pa.bool_(),
        pa.float64(),
        pa.float16(),
        DEEP,
        pa.decimal256(40, 3),
        pa.string(),
        pa.binary(),
        pa.date32(),
        UTC_TIME,
        LOCAL_TIME,
        pa.time64("us"),
        DAYTIME,
        pa.month_day_nano_interval(),
    ],
)
def test_nulls_stay_null_and_no_rows_give_no_text(kind: pa.DataType) -> None:
    assert plain_text(pa.array([None, None], kind)).to_pylist() == [None, None]
    assert plain_text(pa.array([], kind)).to_pylist() == []


def test_a_column_reads_the_same_whatever_else_is_in_it() -> None:
    times = [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 0, 10, UTC), None]
    mixed = plain_text(pa.array(times, UTC_TIME)).to_pylist()
    assert mixed == ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.00001Z", None]


def test_a_zone_of_another_name_reads_as_utc() -> None:
    at = pa.array([datetime(2026, 1, 1, tzinfo=UTC)], pa.timestamp("us", tz="Europe/Berlin"))
    assert plain_text(at).to_pylist() == ["2026-01-01T00:00:00Z"]


def test_a_dictionary_reads_as_its_values() -> None:
    values = pa.array(["a", None, "b", "a"]).dictionary_encode()
    assert plain_text(values).to_pylist() == ["a", None, "b", "a"]


def test_bytes_that_are_no_text_are_replaced() -> None:
    broken = pa.array([b"ok", b"\xff\xfe", None]).view(pa.string())
    assert plain_text(broken).to_pylist() == ["ok", "\ufffd\ufffd", None]


def test_a_slice_of_a_column_reads_as_its_rows() -> None:
    values = pa.array([Decimal("0.01"), Decimal("2.50"), Decimal("-3.00")], pa.decimal128(9, 2))
    assert plain_text(values.slice(1)).to_pylist() == ["2.50", "-3.00"]
    times = pa.array([0, 1, 2_000_000], UTC_TIME).slice(2)
    assert plain_text(times).to_pylist() == ["1970-01-01T00:00:02Z"]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_reads_back_the_same(value: float) -> None:
    text = text_of(value, pa.float64())
    assert text is not None
    assert float(text) == value
    assert set(text) & set(".e")


@given(st.integers(1, 38).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p))), st.data())
def test_a_decimal_has_all_its_digits_and_no_exponent(
    shape: tuple[int, int], data: st.DataObject
) -> None:
    precision, scale = shape
    digits = data.draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    value = Decimal(f"{digits}E-{scale}")
    assert text_of(value, pa.decimal128(precision, scale)) == f"{value:f}"


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_timestamp_reads_back_the_same(value: datetime) -> None:
    text = text_of(value, UTC_TIME)
    assert text is not None
    assert datetime.fromisoformat(text) == value


@given(st.binary())
def test_binary_reads_back_the_same(value: bytes) -> None:
    text = text_of(value, pa.binary())
    assert text is not None
    assert base64.b64decode(text) == value
