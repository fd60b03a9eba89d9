"""Keys: equal sub-plans are one node, different ones never are."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.plan.algebra.aggregates import Aggregate
from penstock.plan.operators import (
    EventTime,
    Filter,
    Operator,
    Project,
    Scan,
    TableJoin,
    Take,
    Union,
    WindowAggregate,
    key,
    walk,
)
from penstock.plan.operators.windows.window_assigner import spans
from tests.examples import examples
from tests.unit.plan.twin import SOUTH, TRAFFIC, bind, columns

ATOMS = ("mph > 1", "kind = 'car'", "car_id = 'a'")


@dataclass(frozen=True)
class Condition:
    """A condition over atoms: its text, and whether it holds where each atom is true or false."""

    text: str
    holds: Callable[[Mapping[str, bool]], bool]


def joined(word: str, combine: Callable[[list[bool]], bool]) -> Callable[..., Condition]:
    def make(parts: list[Condition]) -> Condition:
        text = f" {word} ".join(
            f"({part.text})" if " OR " in part.text or word == "OR" else part.text for part in parts
        )
        return Condition(text, lambda truth: combine([part.holds(truth) for part in parts]))

    return make


def bare_or(parts: list[Condition]) -> Condition:
    """Join by OR without brackets: AND binds closer, so the parts may stand as they are."""
    return Condition(
        " OR ".join(part.text for part in parts),
        lambda truth: any(part.holds(truth) for part in parts),
    )


ATOM = st.sampled_from(ATOMS).map(lambda atom: Condition(atom, lambda truth: truth[atom]))
CONDITIONS = st.recursive(
    ATOM,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(joined("AND", all)),
        st.lists(inner, min_size=2, max_size=3).map(joined("OR", any)),
        st.lists(inner, min_size=2, max_size=3).map(bare_or),
    ),
    max_leaves=5,
)


def meaning(condition: Condition) -> list[bool]:
    cases = itertools.product([True, False], repeat=len(ATOMS))
    return [condition.holds(dict(zip(ATOMS, case, strict=True))) for case in cases]


def filtered(condition: Condition) -> str:
    return key(bind(f"SELECT * FROM traffic WHERE {condition.text}"))


@given(CONDITIONS, CONDITIONS)
@settings(deadline=None, max_examples=examples(200))
def test_filters_of_different_meaning_have_different_keys(one: Condition, two: Condition) -> None:
    assume(meaning(one) != meaning(two))
    assert filtered(one) != filtered(two)


def test_brackets_that_change_the_meaning_change_the_key() -> None:
    closer = key(bind("SELECT * FROM traffic WHERE mph > 1 OR kind = 'a' AND mph < 9"))
    wider = key(bind("SELECT * FROM traffic WHERE (mph > 1 OR kind = 'a') AND mph < 9"))
    assert closer != wider


@given(st.permutations(["mph > 1", "Kind = 'car' OR MPH = 0", "car_id LIKE 'a%'"]), st.booleans())
@settings(deadline=None)
def test_alias_case_order_and_brackets_make_no_other_node(order: list[str], bracket: bool) -> None:
    one, two, three = (f"({each})" for each in order)
    where = f"({one} AND {two}) AND {three}" if bracket else f"{one} AND {two} AND {three}"
    written = f"SELECT T.MPH AS v, x.kind AS k FROM Traffic x WHERE {where}".replace("T.", "X.")
    assert key(bind(written)) == key(
        bind(
            "SELECT mph AS v, kind AS k FROM traffic "
            "WHERE (kind = 'car' OR mph = 0) AND car_id LIKE 'a%' AND mph > 1"
        )
    )


def window(size: int, slide: int) -> WindowAggregate:
    count = ("a0", Aggregate("COUNT(*)", ("count(*)",), ("sum({0})",)))
    assigner = spans(size, slide)
    return WindowAggregate(TRAFFIC, EventTime("ts"), assigner, (), (count,), columns(a0="bigint"))


LENGTHS = st.integers(1, 2**53)


@given(LENGTHS, st.integers(-5, 5), LENGTHS)
@settings(deadline=None)
def test_windows_of_different_lengths_have_different_keys(size: int, more: int, other: int) -> None:
    for longer in {size + more, other} - {size}:
        if longer > 0:
            assert key(window(size, 1)) != key(window(longer, 1))
            assert key(window(2**60, size)) != key(window(2**60, longer))


DIFFERENT: list[Callable[[], Operator]] = [
    lambda: TRAFFIC,
    lambda: Scan("traffic", 2, TRAFFIC.schema, TRAFFIC.times),
    lambda: SOUTH,
    lambda: bind("SELECT mph FROM traffic"),
    lambda: bind("SELECT mph AS Mph FROM traffic"),
    lambda: bind("SELECT mph, kind FROM traffic"),
    lambda: bind("SELECT kind, mph FROM traffic"),
    lambda: bind("SELECT 1 AS p, 2 AS q FROM traffic"),
    lambda: bind("SELECT 1 AS `p, 2 AS q` FROM traffic"),
    lambda: bind("SELECT * FROM traffic WHERE kind = 'a'"),
    lambda: bind("SELECT * FROM traffic WHERE kind = 'A'"),
    lambda: bind("SELECT * FROM traffic WHERE NOT kind = 'a'"),
    lambda: bind("SELECT * FROM (SELECT * FROM traffic WHERE kind = 'a') AS x WHERE mph = 1"),
    lambda: bind("SELECT t.* FROM traffic t JOIN roads r ON t.mph = r.id"),
    lambda: bind("SELECT t.* FROM traffic t LEFT JOIN roads r ON t.mph = r.id"),
    lambda: bind("SELECT * FROM traffic t LEFT SEMI JOIN roads r ON t.mph = r.id"),
    lambda: bind("SELECT * FROM traffic t LEFT ANTI JOIN roads r ON t.mph = r.id"),
    lambda: bind("SELECT * FROM traffic t LEFT ANTI JOIN roads r ON t.mph = r.mph"),
    lambda: bind("SELECT count(*) AS n FROM traffic [RANGE 1 MINUTE]"),
    lambda: bind("SELECT count(*) AS n FROM traffic [RANGE 1 MINUTE SLIDE 30 SECONDS]"),
    lambda: bind("SELECT count(*) AS n FROM traffic [RANGE 1 MINUTE] GROUP BY kind"),
    lambda: bind("SELECT count(*) AS n FROM traffic [RANGE 1 MINUTE] GROUP BY mph"),
    lambda: bind("SELECT count(mph) AS n FROM traffic [RANGE 1 MINUTE]"),
    lambda: bind("SELECT count(mph) FILTER (WHERE mph > 1) AS n FROM traffic [RANGE 1 MINUTE]"),
    lambda: bind("SELECT first(mph) AS n FROM traffic [RANGE 1 MINUTE]"),
    lambda: bind("SELECT first(mph) IGNORE NULLS AS n FROM traffic [RANGE 1 MINUTE]"),
    lambda: Take(TRAFFIC, "q", 10),
    lambda: Take(TRAFFIC, "q", 11),
    lambda: Take(TRAFFIC, "r", 10),
    lambda: Take(TRAFFIC, "q", None),
    lambda: bind("SELECT ts, mph FROM traffic UNION ALL SELECT at, mph FROM south"),
    lambda: bind("SELECT at, mph FROM south UNION ALL SELECT ts, mph FROM traffic"),
]


def test_different_plans_have_different_keys() -> None:
    made = [make() for make in DIFFERENT]
    assert len({key(each) for each in made}) == len(made)


def test_a_table_that_is_made_anew_is_another_one() -> None:
    join = TableJoin(TRAFFIC, "roads", 4, "CROSS", "", (), TRAFFIC.schema)
    again = TableJoin(TRAFFIC, "roads", 5, "CROSS", "", (), TRAFFIC.schema)
    assert key(join) != key(again)


def test_walking_gives_each_node_once_and_inputs_first() -> None:
    low = Filter(TRAFFIC, ("`mph` > 1",))
    left = Project(low, (("a", "`mph`"),), columns(a="int"))
    right = Project(low, (("b", "`mph`"),), columns(b="int"))
    top = Union((left, right), columns(a="int"))
    assert list(walk(top)) == [TRAFFIC, low, left, right, top]


def test_a_take_says_what_it_counts() -> None:
    assert "first 1,000 tuples that come in" in Take(TRAFFIC, "q", 1000).text()
    assert "until time is up" in Take(TRAFFIC, "q", None).text()
