"""CREATE EVENT as text: what is written is what is read, and what is wrong has its place."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.sql import (
    Combined,
    Constituent,
    CreateEvent,
    Describe,
    Drop,
    ExplainEvent,
    Show,
    Written,
    WrittenEvent,
    names_of,
    parse,
    to_sql,
)
from penstock.sql.dialect.intervals import duration_sql

NAMES = st.sampled_from(["smoke", "hot", "Door", "a", "p", "order_placed", "`any`", "`x y`"])
SPANS = st.integers(1, 10**9).map(lambda us: timedelta(microseconds=us))
Shape = tuple[object, ...]


def event(body: str) -> WrittenEvent:
    (statement,) = parse(f"CREATE EVENT e AS {body}")
    assert isinstance(statement, CreateEvent)
    return statement.event


def shape(written: Written) -> Shape:
    """Return a tree without the places in its text."""
    if isinstance(written, Constituent):
        return (written.name, written.label)
    parts = tuple(map(shape, written.parts))
    return (written.operation, parts, written.count, written.every, written.within, written.label)


def combined(parts: st.SearchStrategy[tuple[str, Shape]]) -> st.SearchStrategy[tuple[str, Shape]]:
    """Combine texts and the trees that they stand for."""
    several = st.lists(parts, min_size=2, max_size=4)

    def row(
        word: str, some: list[tuple[str, Shape]], within: timedelta | None
    ) -> tuple[str, Shape]:
        text = f" {word} ".join(text for text, _ in some)
        bound = "" if within is None else f" WITHIN INTERVAL {duration_sql(within)}"
        tree = (word, tuple(tree for _, tree in some), None, None, within, "")
        return f"({text}{bound})", tree

    def chosen(count: int, some: list[tuple[str, Shape]]) -> tuple[str, Shape]:
        count = min(count, len(some))
        text = f"ANY({count}, {', '.join(text for text, _ in some)})"
        return text, ("ANY", tuple(tree for _, tree in some), count, None, None, "")

    def between(three: list[tuple[str, Shape]]) -> tuple[str, Shape]:
        (first, a), (middle, b), (last, c) = three
        return f"NOT({middle})[{first}, {last}]", ("NOT", (a, b, c), None, None, None, "")

    def opened(word: str, three: list[tuple[str, Shape]]) -> tuple[str, Shape]:
        text = f"{word}({', '.join(text for text, _ in three)})"
        return text, (word, tuple(tree for _, tree in three), None, None, None, "")

    def ticking(word: str, every: timedelta, two: list[tuple[str, Shape]]) -> tuple[str, Shape]:
        (first, a), (last, b) = two
        text = f"{word}({first}, INTERVAL {duration_sql(every)}, {last}) t"
        return text, (word, (a, b), None, every, None, "t")

    def later(one: tuple[str, Shape], after: timedelta) -> tuple[str, Shape]:
        text = f"({one[0]}) PLUS INTERVAL {duration_sql(after)}"
        return text, ("PLUS", (one[1],), None, after, None, "")

    three, two = st.lists(parts, min_size=3, max_size=3), st.lists(parts, min_size=2, max_size=2)
    return st.one_of(
        st.builds(row, st.sampled_from(["OR", "AND", "SEQ"]), several, st.none() | SPANS),
        st.builds(chosen, st.integers(1, 4), several),
        st.builds(between, three),
        st.builds(opened, st.sampled_from(["A", "A*"]), three),
        st.builds(ticking, st.sampled_from(["P", "P*"]), SPANS, two),
        st.builds(later, parts, SPANS),
    )


def named(name: str, label: str) -> tuple[str, Shape]:
    return f"{name} {label}", (name.strip("`"), label)


TREES = st.recursive(
    st.builds(named, NAMES, st.sampled_from(["x", "y", "z"])), combined, max_leaves=12
)


@given(TREES)
def test_what_is_written_is_what_is_read(tree: tuple[str, Shape]) -> None:
    text, expected = tree
    assert shape(event(f"SELECT x.k FROM {text}").source) == expected


def test_plus_binds_closest_then_seq_then_and_then_or() -> None:
    loose = event("SELECT a.k FROM a OR b AND c SEQ d PLUS INTERVAL 1 SECOND")
    tight = event("SELECT a.k FROM (a OR (b AND (c SEQ (d PLUS INTERVAL 1 SECOND))))")
    assert shape(loose.source) == shape(tight.source)


def test_the_clauses_of_an_event_stand_in_any_order() -> None:
    found = event(
        "SELECT s.k, h.v * 2 AS twice FROM smoke s SEQ hot h WITHIN INTERVAL 5 MINUTES "
        "WITH (limit => 7, semantics => 'Point') PARTITION BY room, floor WHERE s.k = h.k"
    )
    assert isinstance(found.source, Combined)
    assert found.source.within == timedelta(minutes=5)
    assert (found.limit, found.semantics) == (7, "point")
    assert [column.name for column in found.partition_by] == ["room", "floor"]
    assert found.where is not None
    assert to_sql(found.where) == "s.k = h.k"
    assert to_sql(found.shown) == "SELECT s.k, h.v * 2 AS twice"


def test_a_mask_may_be_called_mask() -> None:
    found = event("SELECT mask, x AS m MASK mask > 3 FROM s")
    assert found.mask is not None
    assert to_sql(found.mask) == "mask > 3"
    assert event("SELECT mask FROM s").mask is None


def test_an_event_reads_names_also_inside_a_select() -> None:
    found = event("SELECT a.k FROM Smoke a SEQ (SELECT k FROM hot JOIN t ON hot.k = t.k) b")
    assert names_of(found) == {"smoke", "hot", "t"}
    masked = event("SELECT k MASK k IN (SELECT k FROM known) FROM s")
    assert names_of(masked) == {"s", "known"}


def test_statements_about_events() -> None:
    script = "SHOW EVENTS; DROP EVENT IF EXISTS e; DESCRIBE EVENT e; EXPLAIN EVENT e AS DOT"
    shown, dropped, described, explained = parse(script)
    assert isinstance(shown, Show)
    assert shown.what == "EVENTS"
    assert isinstance(dropped, Drop)
    assert (dropped.kind, dropped.if_exists) == ("EVENT", True)
    assert isinstance(described, Describe)
    assert described.name == "e"
    assert isinstance(explained, ExplainEvent)
    assert (explained.name, explained.form) == ("e", "DOT")


WRONG = (
    ("SELECT a.k FROM a SEQ", "SQL_SYNTAX", 40),
    ("SELECT a.k FROM SEQ b", "SQL_SYNTAX", 35),
    ("SELECT a.k FROM a SEQ b c d", "SQL_SYNTAX", 45),
    ("SELECT a.k", "SQL_SYNTAX", 29),
    ("a SEQ b", "SQL_SYNTAX", 19),
    ("SELECT a.k MASK FROM a", "SQL_SYNTAX", 35),
    ("SELECT a.k FROM ANY(3, a, b)", "BAD_EVENT", 39),
    ("SELECT a.k FROM ANY(0, a, b)", "BAD_EVENT", 39),
    ("SELECT a.k FROM ANY(a, b)", "SQL_SYNTAX", 39),
    ("SELECT a.k FROM P(a, INTERVAL 0 SECONDS, b)", "BAD_EVENT", 40),
    ("SELECT a.k FROM P(a, b, c)", "SQL_SYNTAX", 40),
    ("SELECT a.k FROM a PLUS INTERVAL -1 SECOND", "BAD_EVENT", 42),
    ("SELECT a.k FROM A(a, b)", "SQL_SYNTAX", 41),
    ("SELECT a.k FROM NOT(b)(a, c)", "SQL_SYNTAX", 41),
    ("SELECT a.k FROM B(a, b, c)", "SQL_SYNTAX", 36),
    ("SELECT a.k FROM a WITHIN INTERVAL 1 MINUTE", "BAD_EVENT", 37),
    ("SELECT a.k FROM (a SEQ b) WITHIN INTERVAL 0 SECONDS", "BAD_OPTION", 52),
    ("SELECT a.k FROM a SEQ b WITHIN INTERVAL 1 DAY WITHIN INTERVAL 1 DAY", "SQL_SYNTAX", 65),
    ("SELECT a.k MASK sum(x) > 3 FROM a", "BAD_EVENT", 35),
    ("SELECT a.k FROM a SEQ b PARTITION BY a.k", "SQL_SYNTAX", 56),
    ("SELECT a.k FROM a PARTITION BY k", "SQL_SYNTAX", None),
    ("SELECT a.k FROM a SEQ b WITH (limt => 3)", "UNKNOWN_OPTION", 48),
    ("SELECT a.k FROM a SEQ b WITH (limit => 0)", "BAD_OPTION", 48),
    ("SELECT a.k FROM a SEQ b WITH (semantics => 'fuzzy')", "BAD_OPTION", 48),
    ("SELECT a.k FROM a SEQ b WHERE", "SQL_SYNTAX", 48),
)


@pytest.mark.parametrize(("body", "code", "column"), WRONG)
def test_what_is_wrong_has_a_code_and_a_place(body: str, code: str, column: int | None) -> None:
    with pytest.raises(PenstockError) as refused:
        event(body)
    assert refused.value.code == code
    assert refused.value.place is not None
    assert column is None or refused.value.place.column == column


def test_a_context_stands_after_an_event_and_before_its_window() -> None:
    text = "SELECT * FROM e [CONTEXT recent-unique] [RANGE 10 MINUTES] AS x"
    (created,) = parse(f"CREATE QUERY q AS {text}")
    assert "[CONTEXT recent_unique] [RANGE 10 MINUTES]" in to_sql(created.select)  # type: ignore[attr-defined]
    with pytest.raises(PenstockError) as refused:
        parse("SELECT * FROM e [CONTEXT resent]")
    assert refused.value.code == "SQL_SYNTAX"
    assert "recent" in refused.value.hint
