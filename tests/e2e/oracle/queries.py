"""Queries in two languages: Penstock's, and plain Spark SQL over the whole data.

The batch form shares nothing with the product: windows are Spark's own `window(ts, size, slide)`,
aggregates are Spark's own, and first and last are `min_by` and `max_by` over (time, value).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

CONDITIONS = (
    "n > 0",
    "flag",
    "k IS NOT NULL",
    "k LIKE 'a%'",
    "g IN (0, 2)",
    "x BETWEEN -50 AND 50.5",
    "d < b",
    "NOT flag",
    "k = 'a' OR g = 1",
    "n % 3 = 0",
    "upper(k) = 'B'",
)
INTEGERS = (
    "n",
    "g",
    "b",
    "n * 2 - g",
    "abs(n)",
    "coalesce(n, -1)",
    "length(k)",
    "CASE WHEN n > 0 THEN n ELSE g END",
    "if(flag, n, g)",
)
STRINGS = (
    "k",
    "upper(k)",
    "coalesce(k, 'none')",
    "concat(k, '-', g)",
    "k || 'z'",
    "date_format(ts, 'HH:mm')",
    "CAST(n AS STRING)",
)
OTHERS = (
    "x",
    "x / 4 + n",
    "d",
    "d * 2",
    "flag",
    "n > g",
    "ts + INTERVAL 1 SECOND",
    "date_trunc('MINUTE', ts)",
    "array(n, g)",
    "named_struct('a', n, 'b', k)",
    "transform(array(n, g), v -> v + 1)",
)
KEYS = ("k", "g", "upper(k)", "g % 2", "coalesce(k, 'none')", "flag", "CASE WHEN n > 0 THEN 1 END")
SAME = (
    "count(*)",
    "count(n)",
    "count(k, x)",
    "sum(n)",
    "sum(b)",
    "sum(d)",
    "sum(x)",
    "sum(n + g)",
    "avg(n)",
    "avg(b)",
    "avg(d)",
    "avg(x)",
    "mean(g)",
    "min(k)",
    "max(k)",
    "min(d)",
    "max(x)",
    "min(ts)",
    "max(ts)",
    "min(flag)",
    "var_pop(x)",
    "var_samp(x)",
    "variance(n)",
    "stddev(x)",
    "stddev_pop(d)",
    "stddev_samp(n)",
    "std(g)",
    "bool_and(flag)",
    "bool_or(n > 40)",
    "every(flag)",
    "some(flag)",
    "bit_and(b)",
    "bit_or(n)",
    "bit_xor(b)",
    "count_if(flag)",
    "count_if(n > 0)",
)
BY_TIME = (("first", "min_by"), ("last", "max_by"), ("first_value", "min_by"))
VALUES = ("n", "k", "x", "d", "flag")
BY_OTHER = (("n", "x"), ("k", "b"), ("d", "n"), ("ts", "d"))
SPANS = ((10, 10), (60, 60), (30, 10), (20, 5), (15, 10), (7, 3), (100, 60))


@dataclass(frozen=True)
class Both:
    """One expression in both languages."""

    stream: str
    batch: str


@dataclass(frozen=True)
class Query:
    """A SELECT in both languages under one name, which later ones may read."""

    name: str
    stream: str
    batch: str


def same(text: str) -> Both:
    """Return what both languages write alike."""
    return Both(text, text)


def conditions() -> st.SearchStrategy[str]:
    """Draw conditions with and without brackets, so that only precedence tells some apart."""

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pair = st.tuples(inner, inner)
        return st.one_of(
            pair.map(lambda two: f"{two[0]} AND {two[1]}"),
            pair.map(lambda two: f"{two[0]} OR {two[1]}"),
            pair.map(lambda two: f"({two[0]} OR {two[1]}) AND {two[0]}"),
            inner.map(lambda one: f"NOT ({one})"),
        )

    return st.recursive(st.sampled_from(CONDITIONS), grow, max_leaves=3)


@st.composite
def aggregates(draw: st.DrawFn) -> Both:
    """Draw an aggregate call, perhaps with a filter."""
    where = draw(st.one_of(st.none(), conditions()))
    kept = f" FILTER (WHERE {where})" if where else ""
    match draw(st.sampled_from(("same", "same", "same", "time", "not null", "other"))):
        case "time":
            name, by = draw(st.sampled_from(BY_TIME))
            value = draw(st.sampled_from(VALUES))
            return Both(f"{name}({value}){kept}", f"{by}({value}, struct(ts, {value})){kept}")
        case "not null":
            name, by = draw(st.sampled_from(BY_TIME))
            value = draw(st.sampled_from(VALUES))
            known = _and(where, f"{value} IS NOT NULL")
            call = draw(
                st.sampled_from((f"({value}, true){kept}", f"({value}){kept} IGNORE NULLS"))
            )
            return Both(f"{name}{call}", f"{by}({value}, struct(ts, {value})){known}")
        case "other":
            value, by = draw(st.sampled_from(BY_OTHER))
            name = draw(st.sampled_from(("min_by", "max_by")))
            # Spark leaves open which of several tuples with an equal `by` wins; Penstock does not.
            known = _and(where, f"{by} IS NOT NULL")
            return Both(
                f"{name}({value}, {by}){kept}", f"{name}({value}, struct({by}, {value})){known}"
            )
        case _:
            return same(f"{draw(st.sampled_from(SAME))}{kept}")


def _and(where: str | None, condition: str) -> str:
    return f" FILTER (WHERE ({where}) AND {condition})" if where else f" FILTER (WHERE {condition})"


@st.composite
def measures(draw: st.DrawFn) -> Both:
    """Draw an output column over aggregates."""
    call = draw(aggregates())
    if draw(st.integers(0, 4)):
        return call
    form = draw(
        st.sampled_from(
            (
                "count(*) + coalesce(sum(n), 0)",
                "sum(x) / count(*)",
                "max(ts) - min(ts)",
                "CASE WHEN count(*) > 3 THEN 'many' ELSE 'few' END",
                "round(avg(n), 1)",
            )
        )
    )
    return same(form)


def stateless(name: str) -> st.SearchStrategy[Query]:
    """Draw a filter and a projection."""
    columns = st.lists(st.sampled_from(INTEGERS + STRINGS + OTHERS), min_size=1, max_size=4)

    def make(drawn: tuple[list[str], str | None]) -> Query:
        shown, where = drawn
        text = f"SELECT {_named(shown)} FROM s{_where(where)}"
        return Query(name, text, text)

    return st.tuples(columns, st.one_of(st.none(), conditions())).map(make)


@st.composite
def joined(draw: st.DrawFn, name: str) -> Query:
    """Draw a join with the table."""
    kind = draw(st.sampled_from(("JOIN", "INNER JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "ANTI JOIN")))
    on = draw(
        st.sampled_from(
            (
                "a.k = r.k",
                "a.k <=> r.k",
                "a.g = r.factor",
                "a.k = r.k AND a.g < r.factor",
                "a.k = r.k OR a.g = r.factor",
            )
        )
    )
    shown = ["a.ts", "a.k", "a.n + a.g"]
    if "SEMI" not in kind and "ANTI" not in kind:
        shown += ["r.k", "r.label", "coalesce(r.factor, -1) * a.g"]
    where = draw(st.one_of(st.none(), st.sampled_from(("a.n > 0", "a.flag OR a.g = 1"))))
    text = f"SELECT {_named(shown)} FROM s AS a {kind} t AS r ON {on}{_where(where)}"
    return Query(name, text, text)


@st.composite
def united(draw: st.DrawFn, name: str) -> Query:
    """Draw a UNION ALL of two streams; its time comes first."""
    branches = []
    for stream in draw(st.sampled_from((("s", "s2"), ("s2", "s", "s"), ("s", "s")))):
        number, word = draw(st.sampled_from(INTEGERS)), draw(st.sampled_from(STRINGS))
        where = draw(st.one_of(st.none(), conditions()))
        branches.append(f"SELECT ts, {number} AS n, {word} AS k FROM {stream}{_where(where)}")
    text = " UNION ALL ".join(branches)
    return Query(name, text, text)


@st.composite
def windowed(draw: st.DrawFn, name: str, source: str = "s") -> Query:
    """Draw an aggregate over a window of `s` or `s2`."""
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=2, unique=True))
    calls = draw(st.lists(measures(), min_size=1, max_size=4))
    where = draw(st.one_of(st.none(), conditions()))
    having = draw(st.one_of(st.none(), aggregates(), st.just(same("count(*) > 1"))))
    shape = _Shape(draw(st.sampled_from(SPANS)), "ts", keys)
    outputs = [
        Both("window_start", "window.start"),
        Both("window_end", "window.end"),
        *map(same, keys),
        *calls,
    ]
    if having is not None and having.stream != "count(*) > 1":
        having = Both(f"({having.stream}) IS NOT NULL", f"({having.batch}) IS NOT NULL")
    return shape.query(name, outputs, source, where, having)


@st.composite
def grouped_join(draw: st.DrawFn, name: str) -> Query:
    """Draw an aggregate over a window whose tuples were joined with the table."""
    kind = draw(st.sampled_from(("JOIN", "LEFT JOIN", "LEFT ANTI JOIN")))
    keys = ["r.label"] if "ANTI" not in kind else ["a.g"]
    shape = _Shape(draw(st.sampled_from(SPANS)), "a.ts", keys)
    outputs = [Both("window_end", "window.end"), *map(same, [*keys, "count(*)", "sum(a.n)"])]
    return shape.query(name, outputs, "s", None, None, f" AS a {kind} t AS r ON a.k = r.k")


@st.composite
def over_windows(draw: st.DrawFn, name: str) -> tuple[Query, Query]:
    """Draw a windowed query, and one over its rows; the time is a bound of the inner window."""
    bound = draw(st.sampled_from(("start", "end")))
    inner = _Shape(draw(st.sampled_from(((10, 10), (20, 10), (7, 7)))), "ts", ["g"]).query(
        f"{name}_in",
        [Both(f"window_{bound}", f"window.{bound}"), *map(same, ("g", "count(*)", "max(x)"))],
        "s",
        draw(st.one_of(st.none(), conditions())),
        None,
    )
    keys = draw(st.sampled_from(([], ["c1"])))
    outer = _Shape(draw(st.sampled_from(((60, 60), (30, 10)))), "c0", keys)
    outputs = [
        Both("window_start", "window.start"),
        *map(same, [*keys, "sum(c2)", "max(c3)", "count(*)"]),
        Both("last(c2)", "max_by(c2, struct(c0, c2))"),
    ]
    return inner, outer.query(name, outputs, inner.name, None, None)


@st.composite
def over_union(draw: st.DrawFn, name: str) -> tuple[Query, Query]:
    """Draw a union of streams, and windows over it."""
    inner = draw(united(f"{name}_in"))
    shape = _Shape(draw(st.sampled_from(SPANS)), "ts", ["k"])
    outputs = [
        Both("window_start", "window.start"),
        *map(same, ("k", "count(*)", "sum(n)", "avg(n)")),
    ]
    return inner, shape.query(name, outputs, inner.name, None, None)


@st.composite
def query_sets(draw: st.DrawFn) -> list[Query]:
    """Draw several queries that run at once and may share parts of their plans."""
    makers: Sequence[Callable[[str], st.SearchStrategy[Query | tuple[Query, Query]]]] = (
        *(stateless, joined, united, windowed, windowed),
        *(grouped_join, over_windows, over_union),
    )
    found: list[Query] = []
    for place in range(draw(st.integers(1, 4))):
        made = draw(draw(st.sampled_from(makers))(f"q{place}"))
        found += made if isinstance(made, tuple) else [made]
    return found


@dataclass(frozen=True)
class _Shape:
    span: tuple[int, int]
    time: str
    keys: list[str]

    def query(
        self,
        name: str,
        outputs: Iterable[Both],
        source: str,
        where: str | None,
        having: Both | None,
        join: str = "",
    ) -> Query:
        outputs = list(outputs)
        size, slide = self.span
        window = f"RANGE {size} SECONDS" + (f" SLIDE {slide} SECONDS" if slide != size else "")
        stream = (
            f"SELECT {_named(each.stream for each in outputs)} FROM {source} [{window}]{join}"
            f"{_where(where)}"
            + (f" GROUP BY {', '.join(self.keys)}" if self.keys else "")
            + (f" HAVING {having.stream}" if having else "")
        )
        groups = [f"window({self.time}, '{size} seconds', '{slide} seconds')", *self.keys]
        batch = (
            f"SELECT {_named(each.batch for each in outputs)} FROM {source}{join}{_where(where)} "
            f"GROUP BY {', '.join(groups)}" + (f" HAVING {having.batch}" if having else "")
        )
        return Query(name, stream, batch)


def _named(columns: Iterable[str]) -> str:
    return ", ".join(f"{sql} AS c{place}" for place, sql in enumerate(columns))


def _where(condition: str | None) -> str:
    return f" WHERE {condition}" if condition else ""
