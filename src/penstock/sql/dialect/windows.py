"""Windows in brackets: their grammar, and their text."""

from datetime import UTC, datetime, timedelta
from typing import assert_never

from penstock.errors import BadWindowError, quoted_value, shortened
from penstock.model.schema import quoted
from penstock.model.windows import (
    Bound,
    GenericWindow,
    Hop,
    LandmarkWindow,
    RangeWindow,
    RowsWindow,
    SemanticWindow,
    SessionWindow,
    Window,
)
from penstock.sql.dialect.conditions import find_part
from penstock.sql.dialect.intervals import duration, duration_sql
from penstock.sql.dialect.reader import TokenReader
from penstock.sql.dialect.trees import spark_sql

FORMS = ("RANGE", "ROWS", "PARTITION", "BEGIN", "LANDMARK", "SESSION", "WHEN")
MAX_DIGITS = 18  # tuple numbers are 64 bits wide wherever they are kept


def read_window(reader: TokenReader) -> Window:
    """Read a window with its brackets; what makes no sense is refused at the opening one."""
    opening = reader.token
    reader.expect("[")
    with reader.placed(opening):
        window = _form(reader)
    reader.expect("]", hint="a window ends with ]")
    return window


def window_sql(window: Window) -> str:
    """Return the window's text without its brackets."""
    match window:
        case RangeWindow(size, slide, offset):
            moved = _optional("OFFSET", offset or None)
            return f"RANGE {_hop_sql(size)}{_optional('SLIDE', slide)}{moved}"
        case RowsWindow(rows, slide, keys):
            partition = f"PARTITION BY {', '.join(map(quoted, keys))} " if keys else ""
            return f"{partition}ROWS {rows}{_optional('SLIDE', slide)}"
        case GenericWindow(begin, end, lower, upper, until):
            hops = f"HOP ({_hop_sql(lower)}, {_hop_sql(upper)})"
            last = "" if until is None else f" UNTIL {_bound_sql(until)}"
            return f"BEGIN {_bound_sql(begin)} END {_bound_sql(end)} {hops}{last}"
        case LandmarkWindow(start, every):
            return f"LANDMARK FROM {_bound_sql(start)} EVERY {_hop_sql(every)}"
        case SessionWindow(gap):
            return f"SESSION GAP {_hop_sql(gap)}"
        case SemanticWindow(condition):
            return f"WHEN {condition}"
        case _:
            assert_never(window)


def _form(reader: TokenReader) -> Window:
    if reader.accept("PARTITION BY"):  # one token, unless a comment stands between the words
        return _partition(reader)
    match reader.choose(*FORMS, what="a window"):
        case "RANGE":
            return _range(reader)
        case "ROWS":
            return _rows(reader)
        case "PARTITION":
            reader.expect("BY")
            return _partition(reader)
        case "BEGIN":
            return _generic(reader)
        case "LANDMARK":
            return _landmark(reader)
        case "SESSION":
            reader.expect("GAP")
            return SessionWindow(duration(reader, refuse=BadWindowError))
        case _:
            return SemanticWindow(_condition(reader))


def _range(reader: TokenReader) -> RangeWindow:
    size = duration(reader, refuse=BadWindowError)
    slide = duration(reader, refuse=BadWindowError) if reader.accept("SLIDE") else None
    if not reader.accept("OFFSET"):
        return RangeWindow(size, slide)
    return RangeWindow(size, slide, duration(reader, refuse=BadWindowError))


def _partition(reader: TokenReader) -> RowsWindow:
    keys = [reader.name("a column")]
    while reader.accept(","):
        keys.append(reader.name("a column"))
    reader.expect("ROWS")
    return _rows(reader, tuple(keys))


def _rows(reader: TokenReader, keys: tuple[str, ...] = ()) -> RowsWindow:
    rows = _count(reader)
    slide = _count(reader) if reader.accept("SLIDE") else None
    return RowsWindow(rows, slide, keys)


def _generic(reader: TokenReader) -> GenericWindow:
    begin = _bound(reader)
    reader.expect("END")
    end = _bound(reader, like=begin)
    reader.expect("HOP", "(")
    lower = _hop(reader, of=begin)
    reader.expect(",")
    upper = _hop(reader, of=begin)
    reader.expect(")")
    until = _bound(reader, like=begin) if reader.accept("UNTIL") else None
    return GenericWindow(begin, end, lower, upper, until)


def _landmark(reader: TokenReader) -> LandmarkWindow:
    reader.expect("FROM")
    start = _bound(reader)
    reader.expect("EVERY")
    return LandmarkWindow(start, _hop(reader, of=start))


def _condition(reader: TokenReader) -> str:
    """Read a condition over the content of a window."""
    condition = reader.value("a condition")
    part = find_part(condition, "a subquery", "a modifier", "a window function")
    if part is not None:
        raise BadWindowError(
            f"{part} stands in WHEN, which looks at the window's own tuples",
            hint="compare aggregates of its content: WHEN max(mph) - min(mph) > 50",
        )
    if find_part(condition, "an aggregate") is None:
        raise BadWindowError(
            "WHEN has no aggregate: it would not look at what the window holds, and a window "
            "that never closes is refused",
            hint="such as WHEN count(*) >= 100, or WHEN last(mph) > 50",
        )
    return spark_sql(condition)


def _bound(reader: TokenReader, *, like: Bound | None = None) -> Bound:
    """Read a time or a tuple number; all of one window's are of one kind."""
    named = reader.accept("TIMESTAMP")
    text = reader.string()
    if named and text is None:
        reader.miss("a time in quotes")
    bound = _count(reader) if text is None else _time(text)
    if like is not None and type(bound) is not type(like):
        raise BadWindowError("a window's bounds are all times or all tuple numbers")
    return bound


def _time(text: str) -> datetime:
    """Return a time; without an offset it is in UTC."""
    try:
        time = datetime.fromisoformat(text.strip())
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadWindowError(
            f"{quoted_value(text)} is no time", hint="such as TIMESTAMP '2026-01-31 12:00:00'"
        ) from None


def _hop(reader: TokenReader, *, of: Bound) -> Hop:
    """Read how far a bound moves: a length of time, or a number of tuples."""
    if isinstance(of, int):
        return _count(reader)
    start = reader.mark()
    if reader.accept("0") and any(reader.sees(mark) for mark in (",", ")", "]")):
        return timedelta(0)  # a bound that stays needs no unit
    reader.back_to(start)
    return duration(reader, refuse=BadWindowError)


def _count(reader: TokenReader) -> int:
    number = reader.number()
    if number is None:
        reader.miss("a number of tuples")
    if not number.lstrip("-").isdecimal() or len(number) > MAX_DIGITS:
        raise BadWindowError(f"{shortened(number)} is no number of tuples")
    return int(number)


def _optional(word: str, hop: Hop | None) -> str:
    return "" if hop is None else f" {word} {_hop_sql(hop)}"


def _hop_sql(hop: Hop) -> str:
    return str(hop) if isinstance(hop, int) else duration_sql(hop)


def _bound_sql(bound: Bound) -> str:
    return str(bound) if isinstance(bound, int) else f"TIMESTAMP '{bound.isoformat(' ')}'"
