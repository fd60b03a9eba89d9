"""Arrow values as plain text, a column at a time; JSON, CSV and tables share these conventions.

| type | text |
| --- | --- |
| floats | shortest that reads back the same, always with `.` or `e`; NaN, Infinity, -Infinity |
| decimals | every digit of the scale, never an exponent |
| timestamps | ISO 8601, `Z` where they have a zone; a fraction only where there is one |
| intervals | ISO 8601 seconds: PT90.5S, PT-1S |
| binary | base64 |
"""

import binascii

import pyarrow as pa
import pyarrow.compute as pc

SECOND = {"s": 0, "ms": 3, "us": 6, "ns": 9}  # digits below a second, by Arrow's unit


def plain_text(values: pa.Array) -> pa.Array:
    """Return each value of a flat column as text without quotes; nulls stay null."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return plain_text(values.dictionary_decode())
    if isinstance(kind, pa.BaseExtensionType):
        return plain_text(values.storage)
    if _is_text(kind):
        return _valid_text(values.cast(pa.string()))
    if _is_binary(kind):
        return _base64_text(values)
    if pa.types.is_floating(kind):
        return _float_text(values)
    if pa.types.is_decimal(kind):
        return _decimal_text(values)
    if pa.types.is_timestamp(kind):
        return _timestamp_text(values)
    if pa.types.is_time(kind):
        return _without_idle_fraction(values.cast(pa.string()))
    if pa.types.is_duration(kind):
        return _duration_text(values)
    if pa.types.is_interval(kind):
        return _interval_text(values)
    return values.cast(pa.string())  # whole numbers, booleans, dates, null


def is_finite(values: pa.Array) -> bool:
    """Say whether every value is a number that JSON can write."""
    return bool(pc.all(pc.is_finite(values), min_count=0).as_py())


def glued(*parts: pa.Array | str) -> pa.Array:
    """Return the parts put together row by row; a null part makes a null row."""
    return pc.binary_join_element_wise(*parts, "")


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )


def _valid_text(values: pa.Array) -> pa.Array:
    # A Spark string may hold any bytes (CAST(x AS STRING)), and Arrow passes them on unchecked.
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        raw = values.cast(pa.binary()).to_pylist()
        return pa.array([v if v is None else v.decode(errors="replace") for v in raw], pa.string())
    return values


def _base64_text(values: pa.Array) -> pa.Array:
    # Arrow has no base64; the encoder is C, the loop is not.
    texts = [
        None if value is None else binascii.b2a_base64(value, newline=False).decode()
        for value in values.to_pylist()
    ]
    return pa.array(texts, pa.string())


def _float_text(values: pa.Array) -> pa.Array:
    if pa.types.is_float16(values.type):
        values = values.cast(pa.float32())
    text = values.cast(pa.string())
    # Arrow writes 1.0 as 1, which readers that guess types would take for a whole number.
    whole = pc.invert(pc.match_substring_regex(text, "[.en]"))
    if pc.any(whole).as_py():
        text = pc.if_else(whole, glued(text, ".0"), text)
    if is_finite(values):
        return text
    endless = pc.if_else(pc.less(values, 0.0), "-Infinity", "Infinity")
    named = pc.if_else(pc.is_nan(values), "NaN", endless)
    return pc.if_else(pc.is_finite(values), text, named)


def _decimal_text(values: pa.Array) -> pa.Array:
    scale = values.type.scale
    if scale == 0:
        return values.cast(pa.string())
    if scale < 0:
        return _decimal_text(values.cast(pa.decimal256(76, 0)))
    # Arrow writes 0E-18 for a zero of that scale: take the digits and set the point here.
    return _with_point(_unscaled(values).cast(pa.string()), scale)


def _unscaled(values: pa.Array) -> pa.Array:
    wide = pa.types.is_decimal256(values.type)
    if not wide:
        values = values.cast(pa.decimal128(38, values.type.scale))  # also widens decimal32 and 64
    plain = pa.decimal256(76, 0) if wide else pa.decimal128(38, 0)
    return pa.Array.from_buffers(plain, len(values), values.buffers(), offset=values.offset)


def _with_point(digits: pa.Array, scale: int) -> pa.Array:
    below_zero = pc.starts_with(digits, "-")
    padded = pc.utf8_lpad(pc.utf8_ltrim(digits, "-"), scale + 1, "0")
    sign = pc.if_else(below_zero, "-", "")
    whole = pc.utf8_slice_codeunits(padded, 0, -scale)
    return glued(sign, whole, ".", pc.utf8_slice_codeunits(padded, -scale))


def _timestamp_text(values: pa.Array) -> pa.Array:
    # Arrow keeps the instant in UTC whatever the zone's name; without a name it prints just that.
    zone = "Z" if values.type.tz else ""
    unit = values.type.unit
    ticks = values.view(pa.int64())
    per_second = 10 ** SECOND[unit]
    second = pc.divide(ticks, per_second)
    if per_second > 1 and pc.all(pc.equal(pc.multiply(second, per_second), ticks)).as_py():
        text = second.cast(pa.timestamp("s")).cast(pa.string())
    else:
        text = _without_idle_fraction(ticks.cast(pa.timestamp(unit)).cast(pa.string()))
    return glued(pc.replace_substring(text, " ", "T", max_replacements=1), zone)


def _without_idle_fraction(text: pa.Array) -> pa.Array:
    if not pc.any(pc.match_substring(text, ".")).as_py():
        return text
    return pc.utf8_rtrim(pc.utf8_rtrim(text, "0"), ".")


def _duration_text(values: pa.Array) -> pa.Array:
    digits = values.view(pa.int64()).cast(pa.string())
    scale = SECOND[values.type.unit]
    seconds = _without_idle_fraction(_with_point(digits, scale)) if scale else digits
    return glued("PT", seconds, "S")


def _interval_text(values: pa.Array) -> pa.Array:
    texts = [None if v is None else _iso_interval(*v) for v in values.to_pylist()]
    return pa.array(texts, pa.string())


def _iso_interval(months: int, days: int, nanoseconds: int) -> str:
    seconds = plain_text(pa.array([nanoseconds], pa.duration("ns")))[0].as_py()
    return f"P{months}M{days}D{seconds.removeprefix('P')}"
