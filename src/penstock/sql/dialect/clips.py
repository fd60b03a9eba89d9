"""WITHIN (time FROM '…' TO '…', lat FROM a TO b): the window of a perspective; and exact numbers.

Degrees are sums of numbers and quotients, as 45 + 52/60 + 1/3600, and mean exactly that.
"""

import re
from datetime import UTC, datetime
from fractions import Fraction

from penstock.errors import BadGridError, quoted_value
from penstock.model.grids import Window
from penstock.model.grids.window import Bounds
from penstock.sql.dialect.intervals import NUMBER
from penstock.sql.dialect.reader import TokenReader

AXES = ("time", "lat", "lon")
SHAPE = "WITHIN (time FROM '2007-10-01' TO '2007-10-04', lat FROM 45.86 TO 45.88)"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECONDS = 1_000_000


def sees_clip(reader: TokenReader) -> bool:
    """Say whether WITHIN comes next, and is no other name for what stands before it."""
    return any(reader.sees("WITHIN", "(", axis.upper(), "FROM") for axis in AXES)


def read_clip(reader: TokenReader) -> Window:
    """Read a window; what is empty is refused at its beginning."""
    opening = reader.token
    reader.expect("WITHIN", "(", hint=SHAPE)
    given: dict[str, Bounds] = {}
    while True:
        token = reader.token
        axis = reader.choose(*(each.upper() for each in AXES), what="time, lat or lon").lower()
        if axis in given:
            reader.fail(f"{axis} is given twice", hint="keep one of the two", token=token)
        reader.expect("FROM", hint=SHAPE)
        read = time if axis == "time" else degrees
        low = read(reader)
        reader.expect("TO", hint=SHAPE)
        given[axis] = (low, read(reader))
        if not reader.accept(","):
            break
    reader.expect(")", hint=SHAPE)
    with reader.placed(opening):
        return Window(**given)


def clip_sql(window: Window) -> str:
    """Return the text of a window."""
    parts = []
    for axis, bounds in zip(AXES, (window.time, window.lat, window.lon), strict=True):
        if bounds is not None:
            told = time_sql if axis == "time" else degrees_sql
            parts.append(f"{axis} FROM {told(bounds[0])} TO {told(bounds[1])}")
    return f"WITHIN ({', '.join(parts)})"


def time(reader: TokenReader) -> Fraction:
    """Read a time as text, in UTC where it names no zone; return its seconds since 1970."""
    token = reader.token
    reader.accept("TIMESTAMP")
    text = reader.string()
    if text is None:
        reader.miss("a time", hint="such as '2007-10-01 00:00'")
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        reader.fail(
            f"{quoted_value(text)} is no time", hint="such as '2007-10-01 00:00'", token=token
        )
    aware = read.replace(tzinfo=UTC) if read.tzinfo is None else read
    since = aware - EPOCH
    return Fraction(
        (since.days * 86_400 + since.seconds) * MICROSECONDS + since.microseconds, MICROSECONDS
    )


def time_sql(seconds: Fraction) -> str:
    """Return a time as it is read."""
    whole, micros = divmod(int(seconds * MICROSECONDS), MICROSECONDS)
    when = datetime.fromtimestamp(whole, UTC).replace(microsecond=micros, tzinfo=None)
    return f"'{when.isoformat(sep=' ')}'"


def degrees(reader: TokenReader) -> Fraction:
    """Read a sum of numbers and quotients, exactly."""
    total = _quotient(reader)
    while reader.sees("+") or reader.sees("-"):
        total += _quotient(reader)
    return total


def degrees_sql(number: Fraction) -> str:
    """Return a number as it is read."""
    sign = "-" if number < 0 else ""
    over = "" if number.denominator == 1 else f"/{number.denominator}"
    return f"{sign}{abs(number.numerator)}{over}"


def _quotient(reader: TokenReader) -> Fraction:
    result = _number(reader)
    while reader.accept("/"):
        token = reader.token
        divisor = _number(reader)
        with reader.placed(token):
            if not divisor:
                raise BadGridError("a number is divided by zero")
        result /= divisor
    return result


def _number(reader: TokenReader) -> Fraction:
    token = reader.token
    number = reader.number()
    if number is None:
        reader.miss("a number", hint="such as 45.8670 or 45 + 52/60 + 1/3600")
    if not re.fullmatch(NUMBER, number):
        reader.fail(f"{quoted_value(number)} is no plain number", token=token)
    return Fraction(number)
