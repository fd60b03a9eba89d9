"""Windows that share a bound stay apart: what compares the rows of one looks at no other's.

All windows from a landmark share their start, those with a fixed end their end. A window is both of
its bounds, whatever compares its rows, in whatever trains they come and whoever asks beside it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import BadQueryError
from tests.e2e.reference.streams import BEGIN, SECOND, Flow, flows
from tests.e2e.reference.trial import LAW, Question, ask, each_train_alone
from tests.e2e.reference.windows import (
    Row,
    Window,
    WindowAssigner,
    landmarks,
    micros,
    moment,
    numbered_landmarks,
    over_numbers,
    over_times,
    partitions,
    spans,
)

pytestmark = pytest.mark.spark

START = micros(BEGIN)


@pytest.fixture(scope="module", params=["each train alone", "whatever waits"])
def ps(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Connection]:
    home: Path = tmp_path_factory.mktemp("apart") / "home"
    opened = (
        each_train_alone(home, spark)
        if request.param == "each train alone"
        else penstock.connect(home, spark=spark)
    )
    with opened as connection:
        yield connection


# -- the windows -------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """A window in brackets, what it holds, and which of its bounds move."""

    sql: str
    find: Callable[[list[Row]], list[Window]]
    moving: tuple[str, ...]
    timed: bool = True

    def told(self, at: int) -> Any:
        """Return a bound as users see it."""
        return moment(at) if self.timed else at


def moving(lower: int, upper: int) -> tuple[str, ...]:
    """Return the bounds that tell windows apart; of a single window both do."""
    single = not lower and not upper
    starts = ("window_start",) if lower or single else ()
    return (*starts, "window_end") if upper or single else starts


def time_sql(at: int) -> str:
    return f"TIMESTAMP '{moment(at):%Y-%m-%d %H:%M:%S}'"


@st.composite
def landmark_times(draw: st.DrawFn) -> Form:
    start, every = START + draw(st.integers(-3, 15)) * SECOND, draw(st.integers(4, 20)) * SECOND
    return Form(
        f"LANDMARK FROM {time_sql(start)} EVERY {every // SECOND} SECONDS",
        lambda rows: landmarks(rows, start, every),
        moving(0, 1),
    )


@st.composite
def landmark_numbers(draw: st.DrawFn) -> Form:
    first, every = draw(st.integers(1, 10)), draw(st.integers(3, 15))
    return Form(
        f"LANDMARK FROM {first} EVERY {every}",
        lambda rows: numbered_landmarks(rows, first, every),
        moving(0, 1),
        timed=False,
    )


# Growing from a start, shrinking to an end, both uneven, back from an end, back to both, and one.
HOPS = ((0, 3), (2, 0), (1, 3), (3, 1), (0, -3), (-2, -3), (0, 0))


@st.composite
def hopping_times(draw: st.DrawFn) -> Form:
    lower, upper = draw(st.sampled_from(HOPS))
    begin, size = draw(st.integers(1, 20)), draw(st.integers(4, 25))
    end = START + (begin + size) * SECOND
    assigner = WindowAssigner(
        START + begin * SECOND,
        end,
        lower * SECOND,
        upper * SECOND,
        end if not lower and not upper else None,
    )
    until = f" UNTIL {time_sql(end)}" if assigner.until else ""
    return Form(
        f"BEGIN {time_sql(assigner.begin)} END {time_sql(end)} "
        f"HOP ({lower} SECONDS, {upper} SECONDS){until}",
        lambda rows: over_times(rows, assigner),
        moving(lower, upper),
    )


@st.composite
def hopping_numbers(draw: st.DrawFn) -> Form:
    lower, upper = draw(st.sampled_from(HOPS))
    begin = draw(st.integers(1, 10))
    end = begin + draw(st.integers(3, 15))
    assigner = WindowAssigner(begin, end, lower, upper, end if not lower and not upper else None)
    until = f" UNTIL {end}" if assigner.until else ""
    return Form(
        f"BEGIN {begin} END {end} HOP ({lower}, {upper}){until}",
        lambda rows: over_numbers(rows, assigner),
        moving(lower, upper),
        timed=False,
    )


@st.composite
def sliding(draw: st.DrawFn) -> Form:
    size = draw(st.integers(3, 12)) * SECOND
    return Form(
        f"RANGE {size // SECOND} SECONDS SLIDE 3 SECONDS",
        lambda rows: spans(rows, size, 3 * SECOND),
        moving(1, 1),
    )


FORMS = st.one_of(
    landmark_times(), landmark_numbers(), hopping_times(), hopping_numbers(), sliding()
)


# -- what compares their rows ------------------------------------------------------------

Group = tuple[str | None, int]  # a key and how many tuples it has
Rows = Iterable[tuple[Any, ...]]


@dataclass(frozen=True)
class Clauses:
    """A SELECT over `$s [window]`, and the rows that one window gives.

    `over` are the columns that OVER goes by, `bounds` the window's as users see them.
    """

    sql: Callable[[str, str], str]
    of: Callable[[tuple[Any, Any], list[Row]], Rows]


def groups(rows: list[Row]) -> list[Group]:
    """Return the keys of a window with how often they occur, the most frequent first."""
    found = [(held[0]["k"], len(held)) for held in partitions(rows, ("k",))]
    return sorted(found, key=lambda each: (-each[1], each[0] or ""))


COUNTED = "SELECT window_start, window_end, k, count(*) AS n"


def top(most: int) -> Clauses:
    return Clauses(
        lambda w, _: f"{COUNTED} FROM $s [{w}] GROUP BY k ORDER BY n DESC, k LIMIT {most}",
        lambda bounds, rows: [(*bounds, *each) for each in groups(rows)[:most]],
    )


def second(most: int) -> Clauses:
    return Clauses(
        lambda w, _: (
            f"SELECT k FROM $s [{w}] GROUP BY k ORDER BY count(*) DESC, k LIMIT {most} OFFSET 1"
        ),
        lambda _, rows: [(key,) for key, _ in groups(rows)[1 : 1 + most]],
    )


def top_tuples(most: int) -> Clauses:
    return Clauses(
        lambda w, _: f"SELECT id, k FROM $s [{w}] ORDER BY id DESC LIMIT {most}",
        lambda _, rows: sorted(((r["id"], r["k"]) for r in rows), reverse=True)[:most],
    )


def distinct_counts(_: int) -> Clauses:
    return Clauses(
        lambda w, _: f"SELECT DISTINCT count(*) AS n FROM $s [{w}] GROUP BY k",
        lambda _, rows: {(n,) for _, n in groups(rows)},
    )


def distinct_keys(_: int) -> Clauses:
    return Clauses(
        lambda w, _: f"SELECT DISTINCT k FROM $s [{w}]",
        lambda _, rows: [(key,) for key, _ in groups(rows)],
    )


def distinct_top(most: int) -> Clauses:
    return Clauses(
        lambda w, _: f"SELECT DISTINCT g FROM $s [{w}] ORDER BY g DESC LIMIT {most}",
        lambda _, rows: sorted({(row["g"],) for row in rows}, reverse=True)[:most],
    )


def qualified(most: int) -> Clauses:
    return Clauses(
        lambda w, over: (
            f"{COUNTED} FROM $s [{w}] GROUP BY k QUALIFY row_number() OVER "
            f"(PARTITION BY {over} ORDER BY count(*) DESC, k) <= {most}"
        ),
        lambda bounds, rows: [(*bounds, *each) for each in groups(rows)[:most]],
    )


def ranked(_: int) -> Clauses:
    return Clauses(
        lambda w, over: (
            f"SELECT k, rank() OVER (PARTITION BY {over} ORDER BY count(*) DESC) AS place, "
            f"sum(count(*)) OVER (PARTITION BY {over}) AS total FROM $s [{w}] GROUP BY k"
        ),
        lambda _, rows: [
            (key, 1 + sum(other > n for _, other in groups(rows)), len(rows))
            for key, n in groups(rows)
        ],
    )


def tuples_over(_: int) -> Clauses:
    return Clauses(
        lambda w, over: f"SELECT id, count(*) OVER (PARTITION BY {over}, g) AS alike FROM $s [{w}]",
        lambda _, rows: [(r["id"], sum(o["g"] == r["g"] for o in rows)) for r in rows],
    )


def having(most: int) -> Clauses:
    return Clauses(
        lambda w, _: f"{COUNTED} FROM $s [{w}] GROUP BY k HAVING n > {most} ORDER BY k LIMIT 1",
        lambda bounds, rows: [
            (*bounds, *each)
            for each in sorted((g for g in groups(rows) if g[1] > most), key=lambda g: g[0] or "")
        ][:1],
    )


def grouped_by_bounds(_: int) -> Clauses:
    return Clauses(
        lambda w, _: (
            f"SELECT k, count(*) AS n FROM $s [{w}] GROUP BY window_start, k "
            "ORDER BY n DESC, k LIMIT 1"
        ),
        lambda _, rows: groups(rows)[:1],
    )


def below(most: int) -> Clauses:
    return Clauses(
        lambda w, _: (
            f"SELECT window_end, k, n FROM ({COUNTED} FROM $s [{w}] GROUP BY k) "
            f"WHERE n > 1 ORDER BY n DESC, k LIMIT {most}"
        ),
        lambda bounds, rows: [(bounds[1], *each) for each in groups(rows) if each[1] > 1][:most],
    )


def below_over(_: int) -> Clauses:
    return Clauses(
        lambda w, over: (
            f"SELECT k, max(n) OVER (PARTITION BY {over}) AS most "
            f"FROM ({COUNTED} FROM $s [{w}] GROUP BY k)"
        ),
        lambda _, rows: [(key, groups(rows)[0][1]) for key, _ in groups(rows)],
    )


def twice(most: int) -> Clauses:
    return Clauses(
        lambda w, _: (
            f"SELECT k FROM ({COUNTED} FROM $s [{w}] GROUP BY k ORDER BY n DESC, k "
            f"LIMIT {most + 1}) ORDER BY n, k DESC LIMIT 1"
        ),
        lambda _, rows: [(groups(rows)[: most + 1][-1][0],)],
    )


def hidden(most: int) -> Clauses:
    """Over a SELECT that does not show the window's bounds."""
    return Clauses(
        lambda w, _: (
            f"SELECT k FROM (SELECT k, count(*) AS n FROM $s [{w}] GROUP BY k) "
            f"WHERE n > 1 ORDER BY n DESC, k LIMIT {most}"
        ),
        lambda _, rows: [(key,) for key, n in groups(rows) if n > 1][:most],
    )


def hidden_deep(_: int) -> Clauses:
    """The same, two SELECTs and a join with a table further up."""
    return Clauses(
        lambda w, _: (
            "SELECT DISTINCT n + m AS more FROM (SELECT n FROM (SELECT k, count(*) AS n "
            f"FROM $s [{w}] GROUP BY k ORDER BY n, k LIMIT 3)) "
            "JOIN VALUES (1), (2) AS v (m) ON n > m"
        ),
        lambda _, rows: {
            (n + m,) for _, n in sorted(groups(rows), key=_by_count)[:3] for m in (1, 2) if n > m
        },
    )


def _by_count(group: Group) -> tuple[int, str]:
    return group[1], group[0] or ""


CLAUSES = (
    top,
    second,
    top_tuples,
    distinct_counts,
    distinct_keys,
    distinct_top,
    qualified,
    ranked,
    tuples_over,
    having,
    grouped_by_bounds,
    below,
    below_over,
    twice,
    hidden,
    hidden_deep,
)


@st.composite
def questions(draw: st.DrawFn) -> Callable[[Flow], Question]:
    form = draw(FORMS)
    clauses = draw(st.sampled_from(CLAUSES))(draw(st.integers(1, 2)))
    over = draw(st.sampled_from((*form.moving, "window_start, window_end")))

    def question(flow: Flow) -> Question:
        answer = [
            row
            for start, end, rows in form.find(flow.rows)
            for row in clauses.of((form.told(start), form.told(end)), rows)
        ]
        return Question(clauses.sql(form.sql, over), answer)

    return question


@LAW
@given(flow=flows(), asked=st.lists(questions(), min_size=3, max_size=6))
def test_clauses_look_at_one_window_at_a_time(
    flow: Flow, asked: list[Callable[[Flow], Question]], ps: Connection
) -> None:
    ask(ps, {"s": flow}, [each(flow) for each in asked])


@LAW
@given(flow=flows(), form=FORMS)
def test_every_clause_looks_at_one_window_at_a_time(flow: Flow, form: Form, ps: Connection) -> None:
    """All at once over one form: they share the windows, and whatever else they can."""
    over = form.moving[-1]
    asked = []
    for each in CLAUSES:
        clauses = each(1)
        rows = [
            row
            for start, end, held in form.find(flow.rows)
            for row in clauses.of((form.told(start), form.told(end)), held)
        ]
        asked.append(Question(clauses.sql(form.sql, over), rows))
    ask(ps, {"s": flow}, asked)


# -- what compares windows with windows --------------------------------------------------


def of_group(rows: list[Row], group: int) -> list[Row]:
    return [row for row in rows if row["g"] == group]


def keys(rows: list[Row]) -> set[str | None]:
    return {row["k"] for row in rows}


def sides(window: str) -> tuple[str, str]:
    one, two = (
        f"SELECT window_end, k FROM $s [{window}] WHERE g = {group} GROUP BY k" for group in (0, 1)
    )
    return one, two


SETS: dict[str, Callable[[set[str | None], set[str | None]], set[str | None]]] = {
    "UNION": set.union,
    "INTERSECT": set.intersection,
    "EXCEPT": set.difference,
}


def met(form: Form, flow: Flow) -> Iterator[Question]:
    """Yield sets and joins of two windowed SELECTs, window by window."""
    one, two = sides(form.sql)
    found = form.find(flow.rows)
    ended = [(form.told(end), of_group(rows, 0), of_group(rows, 1)) for _, end, rows in found]
    for name, together in SETS.items():
        answer = [(end, k) for end, a, b in ended for k in together(keys(a), keys(b))]
        yield Question(f"{one} {name} {two}", answer)
    counts = "SELECT window_end, count(*) AS n FROM $s [{}] WHERE g = {}"
    yield Question(
        f"SELECT a.window_end, a.n, b.n AS m FROM ({counts.format(form.sql, 0)}) AS a "
        f"JOIN ({counts.format(form.sql, 1)}) AS b ON a.window_end = b.window_end",
        [(end, len(a), len(b)) for end, a, b in ended if a and b],
    )
    yield Question(
        "SELECT window_end, max(n) AS most, count(*) AS many FROM (SELECT window_end, k, "
        f"count(*) AS n FROM $s [{form.sql}] GROUP BY k) GROUP BY window_end",
        [(form.told(end), groups(rows)[0][1], len(groups(rows))) for _, end, rows in found],
    )


@LAW
@given(flow=flows(), form=st.one_of(landmark_times(), sliding()))
def test_sets_joins_and_groups_meet_in_one_window(flow: Flow, form: Form, ps: Connection) -> None:
    ask(ps, {"s": flow}, list(met(form, flow)))


# -- refusals ----------------------------------------------------------------------------

LANDMARK = "[LANDMARK FROM TIMESTAMP '2026-03-01' EVERY 10 SECONDS]"
MIXING = (
    f"SELECT window_start, k FROM s {LANDMARK} GROUP BY k UNION "
    f"SELECT window_start, k FROM s {LANDMARK} GROUP BY k",
    "SELECT window_start, max(n) AS most FROM (SELECT window_start, window_end, count(*) AS n "
    f"FROM s {LANDMARK} GROUP BY k) GROUP BY window_start",
)


def test_a_bound_that_stands_still_is_no_time_and_the_hint_names_the_other(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.sql("CREATE STREAM s (ts TIMESTAMP, k STRING) TIMESTAMP BY ts FROM push()")
        for select in MIXING:
            with pytest.raises(BadQueryError) as refused:
                ps.sql(f"CREATE QUERY q AS {select}")
            assert "window_end" in (refused.value.hint or ""), select
