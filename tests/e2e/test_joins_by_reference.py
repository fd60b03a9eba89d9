"""Every form of join gives the rows that nested loops give, however its streams are cut."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.client import Connection
from penstock.engine.states.joins import crowded_keys
from tests.e2e.reference.joins import Input, Kind, Range, Rows, Step, hop_join, join
from tests.e2e.reference.streams import SECOND, Flow, flows
from tests.e2e.reference.trial import LAW, Question, ask, each_train_alone
from tests.e2e.reference.windows import Row, moment

pytestmark = pytest.mark.spark

Window = Range | Rows
Ask = Callable[[dict[str, Flow]], Question]

JOINS: dict[Kind, str] = {
    "inner": "JOIN",
    "left": "LEFT JOIN",
    "right": "RIGHT JOIN",
    "full": "FULL JOIN",
    "semi": "LEFT SEMI JOIN",
    "anti": "LEFT ANTI JOIN",
}


@dataclass(frozen=True)
class On:
    """A condition of two rows in both languages; NULL counts as not holding."""

    sql: str
    holds: Callable[[Row, Row], Any]


def same(a: Any, b: Any) -> bool:
    return a is not None and b is not None and a == b


def less(a: Any, b: Any) -> bool:
    return a is not None and b is not None and a < b


EQUAL = On("a.k = b.k", lambda a, b: same(a["k"], b["k"]))
CONDITIONS = (
    EQUAL,
    On(
        "a.k = b.k AND a.x < b.x",
        lambda a, b: same(a["k"], b["k"]) and less(a["x"], b["x"]),
    ),
    On("a.k <=> b.k AND a.g = b.g", lambda a, b: (a["k"], a["g"]) == (b["k"], b["g"])),
    On("a.w = b.w OR a.x = b.x", lambda a, b: same(a["w"], b["w"]) or same(a["x"], b["x"])),
    On("a.x < b.x", lambda a, b: less(a["x"], b["x"])),
    On("a.k = b.k AND a.d < 1", lambda a, b: same(a["k"], b["k"]) and less(a["d"], 1)),
)


@pytest.fixture(scope="module")
def ps(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with each_train_alone(tmp_path_factory.mktemp("joins") / "home", spark) as connection:
        yield connection


def ranges(least: int = 0, most: int = 6) -> st.SearchStrategy[Window]:
    return st.integers(least, most).map(lambda seconds: Range(seconds * SECOND))


def rows() -> st.SearchStrategy[Window]:
    return st.integers(1, 6).map(Rows)


def window_sql(window: Window) -> str:
    match window:
        case Range(length):
            # A span of no length is refused, but one so short holds no other place of the grid.
            return f"RANGE {length // SECOND} SECONDS" if length else "RANGE 1 MICROSECOND"
        case Rows(count):
            return f"ROWS {count}"


def shown(columns: tuple[str, ...], names: str) -> str:
    """Return these columns of each of the inputs, each under a name of its own."""
    return ", ".join(f"{name}.{each} AS {name}_{each}" for name in names for each in columns)


def values(columns: tuple[str, ...], joined: tuple[Row | None, ...]) -> tuple[Any, ...]:
    return tuple(row and row[each] for row in joined for each in columns)


SHOWN = ("ts", "id", "k", "x")


def pair(kind: Kind, windows: tuple[Window, Window], on: On, *, comma: bool = False) -> Ask:
    """Return what asks one join of `a` and `b`."""
    names = "a" if kind in ("semi", "anti") else "ab"
    left, right = (
        f"${name} [{window_sql(window)}] AS {name}"
        for name, window in zip("ab", windows, strict=True)
    )
    tables = f"{left}, {right} WHERE" if comma else f"{left} {JOINS[kind]} {right} ON"
    sql = f"SELECT {shown(SHOWN, names)} FROM {tables} {on.sql}"

    def question(given_flows: dict[str, Flow]) -> Question:
        inputs = [
            Input(given_flows[name].rows, window)
            for name, window in zip("ab", windows, strict=True)
        ]
        found = join(inputs, [Step(kind, on.holds)])
        return Question(sql, [values(SHOWN, each) for each in found])

    return question


def pairs(
    left: st.SearchStrategy[Window], right: st.SearchStrategy[Window], *kinds: Kind
) -> st.SearchStrategy[Ask]:
    return st.builds(
        pair, st.sampled_from(kinds), st.tuples(left, right), st.sampled_from(CONDITIONS)
    )


def several(one: st.SearchStrategy[Ask]) -> st.SearchStrategy[list[Ask]]:
    """Draw questions that run at once over the same streams."""
    return st.lists(one, min_size=1, max_size=3)


def streams(names: str, most: int = 50) -> st.SearchStrategy[dict[str, Flow]]:
    return st.fixed_dictionaries({name: flows(20, most) for name in names})


def put(ps: Connection, given_flows: dict[str, Flow], asked: list[Ask]) -> None:
    ask(ps, given_flows, [each(given_flows) for each in asked])


# -- two streams -------------------------------------------------------------------------


@LAW
@given(flows=streams("ab"), asked=several(pairs(ranges(), ranges(), "inner")))
def test_spans_join_as_nested_loops_do(
    flows: dict[str, Flow], asked: list[Ask], ps: Connection
) -> None:
    put(ps, flows, asked)


@LAW
@given(flows=streams("ab"), asked=several(pairs(ranges(), ranges(), "left", "right", "full")))
def test_outer_joins_of_spans_join_as_nested_loops_do(
    flows: dict[str, Flow], asked: list[Ask], ps: Connection
) -> None:
    put(ps, flows, asked)


@LAW
@given(flows=streams("ab"), asked=several(pairs(ranges(), ranges(), "semi", "anti")))
def test_semi_and_anti_joins_of_spans_join_as_nested_loops_do(
    flows: dict[str, Flow], asked: list[Ask], ps: Connection
) -> None:
    put(ps, flows, asked)


@LAW
@given(flows=streams("ab"), asked=several(pairs(rows(), rows(), *JOINS)))
def test_rows_join_as_nested_loops_do(
    flows: dict[str, Flow], asked: list[Ask], ps: Connection
) -> None:
    put(ps, flows, asked)


@LAW
@given(
    flows=streams("ab"),
    asked=several(st.one_of(pairs(rows(), ranges(), *JOINS), pairs(ranges(), rows(), *JOINS))),
)
def test_rows_and_spans_join_as_nested_loops_do(
    flows: dict[str, Flow], asked: list[Ask], ps: Connection
) -> None:
    put(ps, flows, asked)


@settings(LAW, max_examples=5)
@given(flows=streams("ab"), window=ranges())
def test_a_comma_with_a_condition_is_an_inner_join(
    flows: dict[str, Flow], window: Window, ps: Connection
) -> None:
    put(ps, flows, [pair("inner", (window, window), EQUAL, comma=True)])


@settings(LAW, max_examples=5)
@given(flow=flows(20, 50), windows=st.tuples(ranges() | rows(), ranges() | rows()))
def test_a_stream_joins_with_itself(
    flow: Flow, windows: tuple[Window, Window], ps: Connection
) -> None:
    twice = pair("inner", windows, EQUAL)({"a": flow, "b": flow})
    ask(ps, {"a": flow}, [Question(twice.sql.replace("$b", "$a"), twice.answer)])


@contextmanager
def always_by_time() -> Iterator[None]:
    """Let rows meet by time buckets however few they are, wherever windows have a length."""
    with mock.patch.multiple(crowded_keys, LEAST_PAIRS=0, PAIRS_A_ROW=0, LEAST_BUCKETS=0):
        yield


@LAW
@given(flows=streams("ab"), asked=several(pairs(ranges(), ranges(), *JOINS)))
def test_spans_join_by_time_as_nested_loops_do(
    flows: dict[str, Flow], asked: list[Ask], ps: Connection
) -> None:
    with always_by_time():
        put(ps, flows, asked)


# -- three streams -----------------------------------------------------------------------


def triple(
    kind: Kind, windows: list[Window], on: On, last: Kind | None = None, by: str = "b"
) -> Ask:
    """Return what asks a join of `a`, `b` and `c`, the last by the key of the second, or of `by`.

    The last is joined as the second is, or by a kind of its own.
    """
    last = last or kind
    names = "a" + "".join(n for n, k in (("b", kind), ("c", last)) if k not in ("semi", "anti"))
    left, middle, right = (
        f"${name} [{window_sql(window)}] AS {name}"
        for name, window in zip("abc", windows, strict=True)
    )
    sql = (
        f"SELECT {shown(SHOWN, names)} FROM {left} {JOINS[kind]} {middle} ON {on.sql} "
        f"{JOINS[last]} {right} ON {by}.k = c.k"
    )

    def question(given_flows: dict[str, Flow]) -> Question:
        inputs = [
            Input(given_flows[name].rows, window)
            for name, window in zip("abc", windows, strict=True)
        ]
        at = names.index(by)
        by_key = Step(last, lambda *rows: same(rows[at]["k"], rows[-1]["k"]))
        found = join(inputs, [Step(kind, on.holds), by_key])
        return Question(sql, [values(SHOWN, each) for each in found])

    return question


def triples(kind: Kind, window: st.SearchStrategy[Window]) -> st.SearchStrategy[Ask]:
    windows = st.lists(window, min_size=3, max_size=3)
    return st.builds(triple, st.just(kind), windows, st.sampled_from(CONDITIONS[:3]))


@LAW
@given(flows=streams("abc", 30), asked=several(triples("inner", ranges(3, 12))))
def test_spans_of_three_streams_join_as_nested_loops_do(
    flows: dict[str, Flow], asked: list[Ask], ps: Connection
) -> None:
    put(ps, flows, asked)


@LAW
@given(flows=streams("abc", 30), asked=several(triples("inner", ranges(3, 12) | rows())))
def test_rows_and_spans_of_three_streams_join_as_nested_loops_do(
    flows: dict[str, Flow], asked: list[Ask], ps: Connection
) -> None:
    put(ps, flows, asked)


@LAW
@given(flows=streams("abc", 30), asked=several(triples("left", ranges(3, 12))))
def test_a_chain_of_left_joins_keeps_what_has_no_partner(
    flows: dict[str, Flow], asked: list[Ask], ps: Connection
) -> None:
    put(ps, flows, asked)


CHAINED: tuple[Kind, ...] = ("inner", "left", "semi", "anti")


@st.composite
def chains(draw: st.DrawFn) -> Ask:
    """Draw joins of three, at least one over ROWS, of which not both are inner."""
    windows = draw(st.lists(ranges(3, 12) | rows(), min_size=2, max_size=2))
    windows.insert(draw(st.integers(0, 2)), draw(rows()))
    kind, last = draw(
        st.tuples(*[st.sampled_from(CHAINED)] * 2).filter(lambda two: set(two) != {"inner"})
    )
    by = draw(st.sampled_from("ab" if kind in ("inner", "left") else "a"))
    return triple(kind, windows, draw(st.sampled_from(CONDITIONS[:3])), last, by)


@LAW
@given(flows=streams("abc", 30), asked=several(chains()))
def test_a_chain_over_rows_keeps_what_has_no_partner(
    flows: dict[str, Flow], asked: list[Ask], ps: Connection
) -> None:
    put(ps, flows, asked)


# -- window by window --------------------------------------------------------------------


@st.composite
def assigner(draw: st.DrawFn) -> Ask:
    size = draw(st.integers(2, 12))
    slide, on = draw(st.integers(1, size)), draw(st.sampled_from(CONDITIONS))
    options = draw(st.sampled_from(("", "join => 'reuse'", "join => 'recompute'")))
    window = f"[RANGE {size} SECONDS SLIDE {slide} SECONDS]"
    sql = (
        f"SELECT window_start, window_end, {shown(SHOWN, 'ab')} "
        f"FROM $a {window} AS a JOIN $b {window} AS b ON {on.sql}"
    )

    def question(given_flows: dict[str, Flow]) -> Question:
        left, right = (given_flows[name].rows for name in "ab")
        found = hop_join(left, right, (size * SECOND, slide * SECOND), Step("inner", on.holds))
        answer = [
            (moment(start), moment(end), *values(SHOWN, tuple(joined)))
            for start, end, *joined in found
        ]
        return Question(sql, answer, options)

    return question


@LAW
@given(flows=streams("ab"), asked=several(assigner()))
def test_a_pair_appears_in_every_window_that_holds_both(
    flows: dict[str, Flow], asked: list[Ask], ps: Connection
) -> None:
    put(ps, flows, asked)


@st.composite
def triple_hops(draw: st.DrawFn) -> Ask:
    """Draw inner joins of three window by window."""
    size = draw(st.integers(2, 8))
    slide, on = draw(st.integers(1, size)), draw(st.sampled_from(CONDITIONS[:3]))
    options = draw(st.sampled_from(("join => 'reuse'", "join => 'recompute'")))
    window = f"[RANGE {size} SECONDS SLIDE {slide} SECONDS]"
    sql = (
        f"SELECT window_start, window_end, {shown(SHOWN, 'abc')} FROM $a {window} AS a "
        f"JOIN $b {window} AS b ON {on.sql} JOIN $c {window} AS c ON a.k = c.k"
    )

    def question(given_flows: dict[str, Flow]) -> Question:
        span = size * SECOND, slide * SECOND
        left, middle, right = (given_flows[name].rows for name in "abc")
        first = hop_join(left, middle, span, Step("inner", on.holds))
        second = hop_join(left, right, span, Step("inner", EQUAL.holds))
        answer = [
            (moment(start), moment(end), *values(SHOWN, (a, b, c)))
            for start, end, a, b in first
            for other, _, again, c in second
            if start == other and a is again
        ]
        return Question(sql, answer, options)

    return question


@LAW
@given(flows=streams("abc", 30), asked=several(triple_hops()))
def test_three_appear_in_every_window_that_holds_all(
    flows: dict[str, Flow], asked: list[Ask], ps: Connection
) -> None:
    put(ps, flows, asked)


@LAW
@given(
    flows=streams("abc", 30),
    spans=triples("inner", ranges(3, 12)) | triples("left", ranges(3, 12)),
    hops=triple_hops(),
)
def test_three_streams_join_by_time_as_nested_loops_do(
    flows: dict[str, Flow], spans: Ask, hops: Ask, ps: Connection
) -> None:
    with always_by_time():
        put(ps, flows, [spans, hops])
