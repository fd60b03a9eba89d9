"""Lengths of time: INTERVAL 2 SECONDS, '1 hour 30 minutes', and 10 MINUTES in windows."""

import re
from datetime import timedelta
from fractions import Fraction

from sqlglot import TokenType

from penstock.errors import BadOptionError, PenstockError, quoted_value
from penstock.sql.dialect.reader import TokenReader
from penstock.sql.dialect.refusals import near_miss

MICROSECONDS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
UNITS = f"one of {', '.join(f'{unit}S' for unit in MICROSECONDS)}"
VAGUE = ("MONTH", "QUARTER", "YEAR")
# No exponents and few digits: nobody means them, and their exact value may not fit in memory.
NUMBER = r"[+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})"
PART = re.compile(rf"\s*({NUMBER})\s*([A-Za-z]+)\s*")


def duration(reader: TokenReader, *, refuse: type[PenstockError]) -> timedelta:
    """Read a length of time, with or without the word INTERVAL; `refuse` what has none."""
    reader.accept("INTERVAL")
    total = _part(reader, refuse)
    while reader.token.token_type is TokenType.NUMBER:  # INTERVAL 1 HOUR 30 MINUTES
        total += _part(reader, refuse)
    try:
        return timedelta(microseconds=round(total))
    except OverflowError:
        raise refuse("that length of time is out of range") from None


def positive_duration(reader: TokenReader, *, of: str) -> timedelta:
    """Read INTERVAL and the length of time of a clause; refuse what is not above zero."""
    with reader.placed(reader.token):
        reader.expect("INTERVAL", hint=f"{of} INTERVAL 10 SECONDS")
        length = duration(reader, refuse=BadOptionError)
        if length <= timedelta(0):
            raise BadOptionError(f"{of} {duration_sql(length)} must be above zero")
    return length


def duration_sql(length: timedelta) -> str:
    """Return a length of time in its largest whole unit: 2 MINUTES."""
    total = length // timedelta(microseconds=1)
    if total == 0:
        return "0 SECONDS"
    size, unit = max((size, unit) for unit, size in MICROSECONDS.items() if total % size == 0)
    count = total // size
    return f"{count} {unit}" if count == 1 else f"{count} {unit}S"


def _part(reader: TokenReader, refuse: type[PenstockError]) -> Fraction:
    """Read one number with its unit, or one string of such pairs."""
    token = reader.token
    number = reader.number()
    if number is None:
        number = reader.string()
    if number is None:
        reader.miss("a length of time", hint="such as INTERVAL 10 SECONDS")
    if re.fullmatch(rf"\s*{NUMBER}\s*", number):
        token = reader.token
        pairs = [(number.strip(), reader.word("a unit of time", hint=UNITS))]
    elif re.fullmatch(rf"(?:{PART.pattern})+", number):
        pairs = PART.findall(number)
    else:
        hint = "such as '1 hour 30 minutes'"
        reader.fail(f"{quoted_value(number)} is no length of time", hint=hint, token=token)
    for _, unit in pairs:
        if _singular(unit) not in (*MICROSECONDS, *VAGUE):
            hint = near_miss(unit, [f"{one}S" for one in MICROSECONDS]) or UNITS
            reader.fail(f"{unit} is no unit of time", hint=hint, token=token)
    return sum((Fraction(count) * _size(unit, refuse) for count, unit in pairs), Fraction(0))


def _size(unit: str, refuse: type[PenstockError]) -> int:
    """Return a unit's microseconds."""
    if _singular(unit) in VAGUE:
        raise refuse(f"{unit.upper()} has no fixed length", hint="count in days: 30 DAYS, 365 DAYS")
    return MICROSECONDS[_singular(unit)]


def _singular(unit: str) -> str:
    return unit.upper().removesuffix("S")
