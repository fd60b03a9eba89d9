"""Strategies for SQL texts: windows, expressions, SELECTs, and statements that went wrong."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import strategies as st

from penstock.model.windows import (
    GenericWindow,
    LandmarkWindow,
    RangeWindow,
    RowsWindow,
    SemanticWindow,
    SessionWindow,
    Window,
)
from penstock.sql import parse

GOLDEN = Path(__file__).parents[2] / "golden" / "parse"
STATEMENTS = [
    statement.text for path in sorted(GOLDEN.glob("*.sql")) for statement in parse(path.read_text())
]
MARKS = "()[]{}<>,;:.'\"`=-+*/"
WORDS = [*sorted({word for text in STATEMENTS for word in text.split()}), *MARKS]

MOMENT = timedelta(microseconds=1)
lengths = st.timedeltas(MOMENT, timedelta(days=4000))
times = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  (hypothesis adds the zone)
counts = st.integers(1, 10**15)
names = st.sampled_from(["a", "b", "car_id", "`the key`", "`sel``ect`"])


@st.composite
def range_windows(draw: st.DrawFn) -> RangeWindow:
    size = draw(lengths)
    return RangeWindow(size, draw(st.none() | st.timedeltas(MOMENT, size)))


@st.composite
def rows_windows(draw: st.DrawFn) -> RowsWindow:
    rows = draw(st.integers(1, 10**15))
    keys = draw(st.lists(st.sampled_from(["k", "Key", "the key", "select", "a`b"]), max_size=3))
    return RowsWindow(rows, draw(st.none() | st.integers(1, rows)), tuple(keys))


@st.composite
def generic_windows(draw: st.DrawFn) -> GenericWindow:
    """Windows that make sense, on both axes and in both directions."""
    begin, sign = draw(counts), draw(st.sampled_from([1, -1]))
    end = begin + draw(st.integers(1, 10**9))
    upper = sign * draw(st.integers(1, 10**9))
    lower = sign * draw(st.integers(0, 10**9))
    limit = end + draw(st.integers(0, 9)) if sign > 0 else begin - draw(st.integers(1, 9))
    until = draw(st.none() | st.just(limit))
    if draw(st.booleans()):
        return GenericWindow(begin, end, lower, upper, until)
    start = draw(times)
    first, last = (start + (one - begin) * MOMENT for one in (end, limit))
    end_of_query = None if until is None else last
    return GenericWindow(start, first, lower * MOMENT, upper * MOMENT, end_of_query)


windows: st.SearchStrategy[Window] = (
    range_windows()
    | rows_windows()
    | generic_windows()
    | st.builds(LandmarkWindow, times, lengths)
    | st.builds(LandmarkWindow, counts, counts)
    | st.builds(SessionWindow, lengths)
    | st.sampled_from([SemanticWindow("SUM(a) > 3"), SemanticWindow("last(xs[0]) = ']'")])
)

OPERATORS = ("+", "-", "*", "/", "%", "=", "<", ">=", "<>", "AND", "OR", "||", "&", "<<", "<=>")
FUNCTIONS = ("nvl", "to_char", "max", "f", "date_add", "locate", "struct", "named_struct")
TYPES = ("INT", "DECIMAL(10, 2)", "ARRAY<STRING>", "TIMESTAMP")

MODIFIERS = (
    "adiff({})",
    "rdiff({}, pseudo => 0.001)",
    "aslope({0}, {0}, profile => 'O')",
    "adiff({}) OVER (PARTITION BY a, b)",
    "rdiff({0}) OVER (PARTITION BY {0})",
)

atoms = names | st.sampled_from(["1", "-2.5", "'it\\'s'", "NULL", "TRUE", "t.a", "xs[0]", "m['k']"])


def composed(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions over others, which stand in parentheses where Spark wants them."""
    part = st.builds("({})".format, inner) | atoms
    return (
        st.builds("{} {} {}".format, part, st.sampled_from(OPERATORS), part)
        | st.builds("NOT {}".format, part)
        | st.builds("- {}".format, part)
        | st.builds("CAST({} AS {})".format, inner, st.sampled_from(TYPES))
        | st.builds("CASE WHEN {} THEN {} ELSE {} END".format, inner, inner, inner)
        | st.builds("{} NOT IN ({}, {})".format, part, inner, inner)
        | st.builds("{} BETWEEN {} AND {}".format, part, part, part)
        | st.builds("{} IS NOT NULL".format, part)
        | st.builds("{}({}, {})".format, st.sampled_from(FUNCTIONS), inner, inner)
        | st.builds("count(DISTINCT {})".format, inner)
        | st.builds(str.format, st.sampled_from(MODIFIERS), inner)
        | st.builds("transform(xs, x -> {})".format, inner)
        | st.builds("{} - INTERVAL 1 HOUR 30 MINUTES".format, part)
    )


expressions = st.recursive(atoms, composed, max_leaves=8)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A statement in which words were lost, swapped or put in."""
    words = draw(st.sampled_from(STATEMENTS)).split(" ")
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(words)))
        match draw(st.sampled_from(["lose", "put", "cut"])):
            case "lose":
                words[place : place + 1] = []
            case "put":
                words[place:place] = [draw(st.sampled_from(WORDS) | st.text(max_size=3))]
            case _:
                text = " ".join(words)
                words = text[: draw(st.integers(0, len(text)))].split(" ")
    return " ".join(words)
