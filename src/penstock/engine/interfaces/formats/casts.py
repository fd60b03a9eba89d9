"""Which Arrow types may stand for which: rules for files (by type) and pushed tables (by value)."""

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

# Decimal digits that hold every value of an integer of so many bits.
DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
# Bits of an integer that a float of so many bits holds exactly.
EXACT_BITS = {32: 24, 64: 53}


def widens(source: pa.DataType, target: pa.DataType) -> bool:
    """Say whether every value of `source` has its equal in `target` (ns are cut to us)."""
    if types.is_dictionary(source):
        return widens(source.value_type, target)
    if source.equals(target) or types.is_null(source):
        return True
    if is_text(source):
        return is_text(target)
    if is_bytes(source):
        return is_bytes(target)
    if types.is_integer(source):
        return _integer_widens(source, target)
    if types.is_floating(source):
        return bool(types.is_floating(target) and source.bit_width <= target.bit_width)
    if types.is_decimal(source):
        return bool(types.is_decimal(target) and _digits_fit(source, target))
    if types.is_timestamp(source):
        return bool(types.is_timestamp(target) and (target.tz is not None or source.tz is None))
    if types.is_date(source):
        return bool(types.is_date(target))
    return _nested_widens(source, target)


def is_same_kind(source: pa.DataType, target: pa.DataType) -> bool:
    """Say whether values of `source` may be tried as values of `target`, one by one."""
    if types.is_integer(source):
        return bool(
            types.is_integer(target) or types.is_floating(target) or types.is_decimal(target)
        )
    if types.is_floating(source):
        return bool(types.is_floating(target))
    if types.is_decimal(source):
        return bool(types.is_decimal(target))
    return widens(source, target)


def is_stored_alike(source: pa.DataType, target: pa.DataType) -> bool:
    """Say whether Parquet keeps both in the same way, so that Spark reads one as the other."""
    if types.is_dictionary(source):
        return is_stored_alike(source.value_type, target)
    if types.is_timestamp(source) and types.is_timestamp(target):
        return source.unit == target.unit and (source.tz is None) == (target.tz is None)
    if types.is_struct(source) and types.is_struct(target):
        return [field.name for field in source] == [field.name for field in target] and all(
            is_stored_alike(one.type, other.type) for one, other in zip(source, target, strict=True)
        )
    if is_list(source) and is_list(target):
        return is_stored_alike(source.value_type, target.value_type)
    if types.is_map(source) and types.is_map(target):
        return is_stored_alike(source.key_type, target.key_type) and is_stored_alike(
            source.item_type, target.item_type
        )
    if types.is_large_string(source) or types.is_large_binary(source):
        return is_text(source) == is_text(target) and is_bytes(source) == is_bytes(target)
    return bool(source.equals(target))


def cast(column: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    """Return the column as `target`; a value that has no equal there raises ArrowInvalid."""
    how = pc.CastOptions(target_type=target, allow_time_truncate=True)
    return pc.cast(column, options=how)


def is_text(kind: pa.DataType) -> bool:
    """Say whether values are text."""
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_bytes(kind: pa.DataType) -> bool:
    """Say whether values are bytes."""
    return bool(
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
    )


def is_list(kind: pa.DataType) -> bool:
    """Say whether values are lists."""
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _integer_widens(source: pa.DataType, target: pa.DataType) -> bool:
    unsigned = types.is_unsigned_integer(source)
    if types.is_integer(target):
        if types.is_unsigned_integer(target):
            return bool(unsigned and source.bit_width <= target.bit_width)
        return bool(source.bit_width + unsigned <= target.bit_width)
    if types.is_floating(target):
        return bool(source.bit_width <= EXACT_BITS.get(target.bit_width, 0))
    if types.is_decimal(target):
        return bool(target.precision - target.scale >= DIGITS[source.bit_width])
    return False


def _digits_fit(source: pa.DataType, target: pa.DataType) -> bool:
    more = target.precision - target.scale >= source.precision - source.scale
    return bool(more and target.scale >= source.scale)


def _nested_widens(source: pa.DataType, target: pa.DataType) -> bool:
    if is_list(source) and is_list(target):
        return widens(source.value_type, target.value_type)
    if types.is_map(source) and types.is_map(target):
        return widens(source.key_type, target.key_type) and widens(
            source.item_type, target.item_type
        )
    if types.is_struct(source) and types.is_struct(target):
        return all(
            (at := source.get_field_index(field.name)) >= 0
            and widens(source.field(at).type, field.type)
            for field in target
        )
    return False
