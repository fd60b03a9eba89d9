"""Every form of window gives the rows that brute force gives, however its stream is cut."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.client import Connection
from tests.e2e.reference import aggregates
from tests.e2e.reference.measures import BY_TIME, MEASURES, Measure, answers, column, timed
from tests.e2e.reference.streams import BEGIN, SECOND, Flow, flows, untimed
from tests.e2e.reference.trial import LAW, Question, ask, each_train_alone
from tests.e2e.reference.windows import (
    Row,
    Window,
    WindowAssigner,
    counts,
    landmarks,
    micros,
    moment,
    numbered_landmarks,
    over_numbers,
    over_times,
    sessions,
    spans,
    when,
)

pytestmark = pytest.mark.spark

KEYS = ((), ("k",), ("k", "g"))
START = micros(BEGIN)

Ask = Callable[[Flow], Question]


@pytest.fixture(scope="module")
def ps(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with each_train_alone(tmp_path_factory.mktemp("windows") / "home", spark) as connection:
        yield connection


def measures(timed_too: bool = True) -> st.SearchStrategy[list[Measure]]:
    known = MEASURES + BY_TIME if timed_too else MEASURES
    return st.lists(st.sampled_from(known), min_size=1, max_size=4, unique=True)


def select(shown: tuple[str, ...], keys: tuple[str, ...], asked: list[Measure], window: str) -> str:
    columns = [*shown, *keys, *(f"{each.sql} AS c{place}" for place, each in enumerate(asked))]
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {', '.join(columns)} FROM $s [{window}]{grouped}"


BOUNDS = ("window_start", "window_end")


def over_time(
    window: str, keys: tuple[str, ...], asked: list[Measure], find: Callable[[list[Row]], Any]
) -> Ask:
    """Return what asks a window of times, whose content `find` gives."""
    sql = select(BOUNDS, keys, asked, window)
    return lambda flow: Question(sql, timed(answers(find(flow.rows), keys, asked)))


def over_number(
    window: str, keys: tuple[str, ...], asked: list[Measure], find: Callable[[list[Row]], Any]
) -> Ask:
    """Return what asks a window of tuple numbers, whose content `find` gives."""
    sql = select(BOUNDS, keys, asked, window)
    return lambda flow: Question(sql, answers(find(flow.rows), keys, asked), numbered=True)


def several(one: st.SearchStrategy[Ask]) -> st.SearchStrategy[list[Ask]]:
    """Draw questions that run at once over one stream."""
    return st.lists(one, min_size=1, max_size=3)


def put(ps: Connection, flow: Flow, asked: list[Ask]) -> None:
    ask(ps, {"s": flow}, [each(flow) for each in asked])


# -- RANGE, SESSION, LANDMARK ------------------------------------------------------------


@st.composite
def ranges(draw: st.DrawFn) -> Ask:
    size = draw(st.integers(1, 12))
    slide = draw(st.integers(1, size))
    slid = "" if slide == size and draw(st.booleans()) else f" SLIDE {slide} SECONDS"
    return over_time(
        f"RANGE {size} SECONDS{slid}",
        draw(st.sampled_from(KEYS)),
        draw(measures()),
        lambda rows: spans(rows, size * SECOND, slide * SECOND),
    )


@LAW
@given(flow=flows(), asked=several(ranges()))
def test_ranges_hold_what_brute_force_finds(flow: Flow, asked: list[Ask], ps: Connection) -> None:
    put(ps, flow, asked)


@st.composite
def gaps(draw: st.DrawFn) -> Ask:
    gap, keys = draw(st.integers(1, 10)), draw(st.sampled_from(KEYS))
    return over_time(
        f"SESSION GAP {gap} SECONDS",
        keys,
        draw(measures()),
        lambda rows: sessions(rows, gap * SECOND, keys),
    )


@LAW
@given(flow=flows(), asked=several(gaps()))
def test_sessions_hold_what_brute_force_finds(flow: Flow, asked: list[Ask], ps: Connection) -> None:
    put(ps, flow, asked)


@st.composite
def growing(draw: st.DrawFn) -> Ask:
    keys, asked = draw(st.sampled_from(KEYS)), draw(measures())
    if draw(st.booleans()):
        start, every = START + draw(st.integers(-5, 30)) * SECOND, draw(st.integers(4, 30))
        return over_time(
            f"LANDMARK FROM {time_sql(start)} EVERY {every} SECONDS",
            keys,
            asked,
            lambda rows: landmarks(rows, start, every * SECOND),
        )
    first, tuples = draw(st.integers(1, 20)), draw(st.integers(2, 20))
    return over_number(
        f"LANDMARK FROM {first} EVERY {tuples}",
        keys,
        asked,
        lambda rows: numbered_landmarks(rows, first, tuples),
    )


@LAW
@given(flow=flows(), asked=several(growing()))
def test_landmarks_hold_what_brute_force_finds(
    flow: Flow, asked: list[Ask], ps: Connection
) -> None:
    put(ps, flow, asked)


# -- ROWS --------------------------------------------------------------------------------


@st.composite
def rows(draw: st.DrawFn, timed_too: bool = True) -> Ask:
    size = draw(st.integers(1, 10))
    slide = draw(st.integers(1, size))
    slid = "" if slide == size and draw(st.booleans()) else f" SLIDE {slide}"
    parts = draw(st.sampled_from(KEYS))
    keys = parts or draw(st.sampled_from(KEYS))
    by = f"PARTITION BY {', '.join(parts)} " if parts else ""
    return over_number(
        f"{by}ROWS {size}{slid}",
        keys,
        draw(measures(timed_too)),
        lambda given_rows: counts(given_rows, size, slide, parts),
    )


@LAW
@given(flow=flows(), asked=several(rows()))
def test_rows_hold_what_brute_force_finds(flow: Flow, asked: list[Ask], ps: Connection) -> None:
    put(ps, flow, asked)


@LAW
@given(flow=flows().map(untimed), asked=several(rows(timed_too=False)))
def test_rows_of_a_stream_without_times_follow_arrival(
    flow: Flow, asked: list[Ask], ps: Connection
) -> None:
    put(ps, flow, asked)


# -- BEGIN END HOP UNTIL -----------------------------------------------------------------


@st.composite
def forward(draw: st.DrawFn, most: int, inside: int) -> WindowAssigner:
    """Draw hops that go on; `inside` is 1 where END is the last place of the window."""
    begin, size = draw(st.integers(1, most)), draw(st.integers(1, 12))
    end = begin + size - inside
    shape = draw(st.sampled_from(("even", "uneven", "landmark", "shrinking", "snapshot")))
    if shape == "snapshot":
        return WindowAssigner(begin, end, 0, 0, until=end)
    hop = draw(st.integers(1, 8))
    other = draw(st.integers(1, 8))
    lower, upper = {
        "even": (hop, hop),
        "uneven": (hop, other),
        "landmark": (0, hop),
        "shrinking": (hop, draw(st.integers(0, hop - 1))),
    }[shape]
    return WindowAssigner(begin, end, lower, upper, draw(st.none() | st.integers(end, end + 30)))


@st.composite
def backward(draw: st.DrawFn, most: int, inside: int) -> WindowAssigner:
    """Draw hops that go back into history."""
    begin, size = draw(st.integers(1, most)), draw(st.integers(1, 12))
    end = begin + size - inside
    upper = draw(st.integers(1, 8))
    lower = draw(st.sampled_from((0, upper, draw(st.integers(1, 8)))))
    last = (begin if lower else end) - 1
    return WindowAssigner(begin, end, -lower, -upper, draw(st.none() | st.integers(0, last)))


def at_seconds(assigner: WindowAssigner) -> WindowAssigner:
    """Return the hops as seconds since the streams begin."""
    until = None if assigner.until is None else START + assigner.until * SECOND
    return WindowAssigner(
        START + assigner.begin * SECOND,
        START + assigner.end * SECOND,
        assigner.lower * SECOND,
        assigner.upper * SECOND,
        until,
    )


def time_sql(at: int) -> str:
    return f"TIMESTAMP '{moment(at):%Y-%m-%d %H:%M:%S}'"


def hops_sql(
    assigner: WindowAssigner, bound: Callable[[int], str] = str, length: Callable[[int], str] = str
) -> str:
    until = "" if assigner.until is None else f" UNTIL {bound(assigner.until)}"
    return (
        f"BEGIN {bound(assigner.begin)} END {bound(assigner.end)} "
        f"HOP ({length(assigner.lower)}, {length(assigner.upper)}){until}"
    )


@st.composite
def hopping_times(draw: st.DrawFn, kind: Callable[..., st.SearchStrategy[WindowAssigner]]) -> Ask:
    assigner = at_seconds(draw(kind(40, 0)))
    return over_time(
        hops_sql(assigner, time_sql, lambda hop: f"{hop // SECOND} SECONDS"),
        draw(st.sampled_from(KEYS)),
        draw(measures()),
        lambda given_rows: over_times(given_rows, assigner),
    )


@st.composite
def hopping_numbers(draw: st.DrawFn, kind: Callable[..., st.SearchStrategy[WindowAssigner]]) -> Ask:
    assigner = draw(kind(30, 1))
    return over_number(
        hops_sql(assigner),
        draw(st.sampled_from(KEYS)),
        draw(measures()),
        lambda given_rows: over_numbers(given_rows, assigner),
    )


@LAW
@given(flow=flows(), asked=several(hopping_times(forward)))
def test_hops_over_times_hold_what_brute_force_finds(
    flow: Flow, asked: list[Ask], ps: Connection
) -> None:
    put(ps, flow, asked)


@LAW
@given(flow=flows(), asked=several(hopping_numbers(forward)))
def test_hops_over_numbers_hold_what_brute_force_finds(
    flow: Flow, asked: list[Ask], ps: Connection
) -> None:
    put(ps, flow, asked)


@LAW
@given(flow=flows(), asked=several(hopping_times(backward)))
def test_reverse_hops_over_times_hold_what_brute_force_finds(
    flow: Flow, asked: list[Ask], ps: Connection
) -> None:
    put(ps, flow, asked)


@LAW
@given(flow=flows(), asked=several(hopping_numbers(backward)))
def test_reverse_hops_over_numbers_hold_what_brute_force_finds(
    flow: Flow, asked: list[Ask], ps: Connection
) -> None:
    put(ps, flow, asked)


# -- WHEN --------------------------------------------------------------------------------


def spread(held: list[Row]) -> int | None:
    known = aggregates.known(column(held, "x"))
    return max(known) - min(known) if known else None


def is_above(value: Any, bound: Any) -> bool | None:
    return None if value is None else value > bound


# `id` grows with arrival, so that its first and last are the same by value and by arrival.
CONDITIONS: tuple[tuple[str, Callable[[list[Row]], bool | None]], ...] = (
    ("count(*) >= 3", lambda held: len(held) >= 3),
    ("count(x) > 2", lambda held: aggregates.count(column(held, "x")) > 2),
    ("sum(x) > 4", lambda held: is_above(aggregates.total(column(held, "x")), 4)),
    ("avg(x) > 1", lambda held: is_above(aggregates.avg(column(held, "x")), 1)),
    ("max(x) - min(x) > 4", lambda held: is_above(spread(held), 4)),
    (
        "count_if(g = 1) >= 2 OR max(d) > 2",
        lambda held: (
            column(held, "g").count(1) >= 2 or is_above(aggregates.most(column(held, "d")), 2)
        ),
    ),
    ("last(id) - first(id) > 6", lambda held: held[-1]["id"] - held[0]["id"] > 6),
    ("sum(x) > 1000", lambda held: is_above(aggregates.total(column(held, "x")), 1000)),
)


@st.composite
def semantic(draw: st.DrawFn) -> Ask:
    condition, holds = draw(st.sampled_from(CONDITIONS))
    keys, asked = draw(st.sampled_from(KEYS)), [MEASURES[0], *draw(measures())]
    sql = select((), keys, asked, f"WHEN {condition}")

    def question(flow: Flow) -> Question:
        found = answers(when(flow.rows, holds, keys), keys, asked)
        return Question(sql, [tuple(islice(row, len(BOUNDS), None)) for row in found])

    return question


@LAW
@given(flow=flows(), asked=several(semantic()))
def test_semantic_windows_hold_what_brute_force_finds(
    flow: Flow, asked: list[Ask], ps: Connection
) -> None:
    put(ps, flow, asked)


# -- DISTINCT and the top ----------------------------------------------------------------


@st.composite
def distinct(draw: st.DrawFn) -> Ask:
    size = draw(st.integers(1, 12))
    columns = draw(st.sampled_from((("k",), ("k", "x"), ("w",))))

    def question(flow: Flow) -> Question:
        found = answers(spans(flow.rows, size * SECOND, size * SECOND), columns, ())
        names = ", ".join((*BOUNDS, *columns))
        return Question(f"SELECT DISTINCT {names} FROM $s [RANGE {size} SECONDS]", timed(found))

    return question


@LAW
@given(flow=flows(), asked=several(distinct()))
def test_distinct_gives_each_row_once_a_window(
    flow: Flow, asked: list[Ask], ps: Connection
) -> None:
    put(ps, flow, asked)


def top_groups(window: Window, size: int) -> list[tuple[Any, ...]]:
    """Return the keys of a window with most tuples; among equals NULL and then the alphabet."""
    found = timed(answers([window], ("k",), MEASURES[:1]))
    return sorted(found, key=lambda row: (-row[3], row[2] or ""))[:size]


@st.composite
def top(draw: st.DrawFn) -> Ask:
    size, most = draw(st.integers(2, 12)), draw(st.integers(1, 3))
    sql = (
        "SELECT window_start, window_end, k, count(*) AS n "
        f"FROM $s [RANGE {size} SECONDS] GROUP BY k ORDER BY n DESC, k LIMIT {most}"
    )

    def question(flow: Flow) -> Question:
        windows = spans(flow.rows, size * SECOND, size * SECOND)
        return Question(sql, [row for window in windows for row in top_groups(window, most)])

    return question


@LAW
@given(flow=flows(), asked=several(top()))
def test_a_limit_holds_for_each_window(flow: Flow, asked: list[Ask], ps: Connection) -> None:
    put(ps, flow, asked)
