import pyarrow as pa
import pytest

from penstock.engine.interfaces.formats.casts import cast, is_same_kind, is_stored_alike, widens

UTC_US = pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (pa.int32(), pa.int64()),
        (pa.uint32(), pa.int64()),
        (pa.int32(), pa.float64()),
        (pa.float32(), pa.float64()),
        (pa.int32(), pa.decimal128(10, 0)),
        (pa.decimal128(10, 2), pa.decimal128(12, 3)),
        (pa.timestamp("ms", "UTC"), UTC_US),
        (pa.timestamp("ns"), UTC_US),
        (pa.timestamp("us", "Europe/Madrid"), UTC_US),
        (pa.large_string(), pa.string()),
        (pa.dictionary(pa.int32(), pa.string()), pa.string()),
        (pa.null(), pa.int32()),
        (pa.date64(), pa.date32()),
        (pa.list_(pa.int32()), pa.list_(pa.int64())),
        (pa.struct([("a", pa.int8()), ("b", pa.string())]), pa.struct([("a", pa.int32())])),
    ],
)
def test_a_wider_type_takes_every_value(source: pa.DataType, target: pa.DataType) -> None:
    assert widens(source, target)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (pa.int64(), pa.int32()),
        (pa.uint64(), pa.int64()),
        (pa.int64(), pa.float64()),
        (pa.int32(), pa.float32()),
        (pa.float64(), pa.float32()),
        (pa.float64(), pa.int64()),
        (pa.int64(), pa.decimal128(10, 0)),
        (pa.decimal128(10, 2), pa.decimal128(10, 3)),
        (pa.string(), pa.int32()),
        (pa.int32(), pa.string()),
        (pa.date32(), UTC_US),
        (UTC_US, pa.timestamp("us")),
        (pa.bool_(), pa.int32()),
        (pa.list_(pa.int64()), pa.list_(pa.int32())),
        (pa.struct([("b", pa.int8())]), pa.struct([("a", pa.int32())])),
    ],
)
def test_a_narrower_or_other_type_does_not(source: pa.DataType, target: pa.DataType) -> None:
    assert not widens(source, target)


def test_numbers_may_be_tried_one_by_one_and_text_may_not() -> None:
    assert is_same_kind(pa.int64(), pa.int32())
    assert is_same_kind(pa.float64(), pa.float32())
    assert not is_same_kind(pa.float64(), pa.int32())
    assert not is_same_kind(pa.string(), pa.int32())


def test_parquet_keeps_names_of_list_items_and_widths_of_offsets_alike() -> None:
    assert is_stored_alike(pa.large_string(), pa.string())
    assert is_stored_alike(pa.timestamp("us", "Europe/Madrid"), UTC_US)
    assert is_stored_alike(
        pa.list_(pa.field("item", pa.int32())), pa.list_(pa.field("element", pa.int32()))
    )
    assert not is_stored_alike(pa.timestamp("ns", "UTC"), UTC_US)
    assert not is_stored_alike(pa.timestamp("us"), UTC_US)
    assert not is_stored_alike(pa.int32(), pa.int64())


def test_a_value_without_its_equal_is_refused() -> None:
    with pytest.raises(pa.ArrowInvalid):
        cast(pa.chunked_array([[1, 2**40]]), pa.int32())


def test_nanoseconds_are_cut_and_naive_times_are_utc() -> None:
    column = pa.chunked_array([pa.array([1_234_567], pa.timestamp("ns"))])
    assert cast(column, UTC_US).cast(pa.int64()).to_pylist() == [1234]
