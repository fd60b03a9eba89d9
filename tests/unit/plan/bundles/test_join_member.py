"""Which joins can share one, and what tells them apart."""

from collections.abc import Iterator

import pytest

from penstock.model.own_names import INPUT, LEFT, RIGHT
from penstock.model.schema import Column, Schema
from penstock.plan.operators import (
    EventTime,
    Filter,
    Gate,
    JoinBundle,
    Operator,
    Project,
    Scan,
    WindowJoin,
    key,
)
from penstock.plan.operators.bundles.join_member import JoinKey, join_member_of
from penstock.plan.operators.graph import Graph
from penstock.plan.operators.joins.window_join import JoinSide
from penstock.plan.sharing.bundles import GraphPlacement, bundled
from penstock.plan.sharing.shared_join import added, columns_of, shared_join_of
from penstock.plan.sharing.units import cut_at_shared

COLUMNS = {"ts": "timestamp", "k": "string", "n": "int", "x": "double"}
SCHEMA = Schema(tuple(Column(name, kind) for name, kind in COLUMNS.items()))
A, B = (Scan(name, 1, SCHEMA, (EventTime("ts"),)) for name in "ab")
EQUAL = f"({LEFT}.`k` = {RIGHT}.`r_k`)"


def join(
    left: Operator = A,
    right: Operator = B,
    *,
    widths: tuple[int, int] = (5, 3),
    on: str = EQUAL,
    kind: str = "INNER",
    carry: bool = False,
    names: tuple[str, ...] = ("ts", "k", "n"),
) -> WindowJoin:
    """Return a join that shows some columns of either side."""
    sides = (
        JoinSide(EventTime("ts"), widths[0], tuple((name, name) for name in names)),
        JoinSide(EventTime("ts"), widths[1], tuple((name, f"r_{name}") for name in names)),
    )
    return WindowJoin(left, right, sides, kind, on, carry)


def shown(below: Operator, name: str = "n") -> Project:
    """Return one column of what is below."""
    return Project(below, ((name, f"`{name}`"),), Schema((Column(name, "int"),)))


def bundles(*roots: Operator, placement: GraphPlacement | None = None) -> Iterator[JoinBundle]:
    graph = Graph({f"q{place}": root for place, root in enumerate(roots)})
    found = bundled(graph, placement or GraphPlacement()).queries.values()
    return (each for each in found if isinstance(each, JoinBundle))


def test_a_member_is_told_by_its_filters_and_what_on_asks_beyond_keys() -> None:
    on = f"{EQUAL} AND ({LEFT}.`n` < {RIGHT}.`r_n`)"
    member = join_member_of(shown(join(Filter(A, ("`n` > 1",)), on=on)))
    assert member is not None
    assert member.keys == (JoinKey("k", "k"),)
    assert [each.conditions for each in member.sides] == [("`n` > 1",), ()]
    assert [key(each) for each in member.bases] == [key(A), key(B)]
    assert member.rest == (f"{INPUT}.`n` < {INPUT}.`r_n`",)


@pytest.mark.parametrize(
    "root",
    [
        shown(join(kind="LEFT")),
        join(carry=True),
        shown(join(on=f"({LEFT}.`n` < {RIGHT}.`r_n`)")),
        shown(join(on=f"({LEFT}.`k` = {RIGHT}.`r_n`)", names=("ts", "k", "n"))),  # other types
        shown(join(Gate(A, 0.1))),
        shown(A),
    ],
    ids=["outer", "one of a chain", "no key", "keys of two types", "behind a gate", "no join"],
)
def test_what_cannot_share_is_no_member(root: Operator) -> None:
    assert join_member_of(root) is None


def test_joins_with_other_windows_filters_and_columns_are_one_bundle() -> None:
    roots = (
        shown(join()),
        shown(join(Filter(A, ("`n` > 1",)), widths=(1, 60))),
        shown(Filter(join(names=("ts", "k", "x")), ("`x` > `r_x`",)), "x"),
    )
    (bundle,) = bundles(*roots)
    assert {member.key for member in bundle.members} == set(map(key, roots))
    shared = shared_join_of(bundle)
    assert [side.width for side in shared.sides] == [5, 60]
    for member in bundle.members:
        assert set(columns_of(member).values()) <= set(shared.schema.names)
    assert {*added(0), *added(1)} <= set(shared.schema.names)


def test_a_bundle_of_joins_is_one_unit_that_reads_both_streams() -> None:
    roots = shown(join()), shown(join(widths=(1, 1)))
    (bundle,) = bundles(*roots)
    (unit,) = cut_at_shared(Graph({"bundle": bundle}, frozenset(map(key, roots))))
    assert set(unit.inputs) == {key(A), key(B)}
    assert {key(root) for root in unit.roots} == set(map(key, roots))


@pytest.mark.parametrize(
    "other",
    [
        join(on=f"({LEFT}.`k` <=> {RIGHT}.`r_k`)"),
        join(on=f"{EQUAL} AND ({LEFT}.`n` = {RIGHT}.`r_n`)"),
        join(B, A),
    ],
    ids=["null-safe", "another key more", "the streams the other way"],
)
def test_joins_by_other_keys_stay_apart(other: WindowJoin) -> None:
    assert list(bundles(shown(join()), shown(other))) == []


def test_joins_set_apart_share_nothing_above_their_bases() -> None:
    roots = shown(join()), shown(Filter(join(), ("`n` > 1",)))
    graph = Graph({f"q{place}": root for place, root in enumerate(roots)})
    apart = bundled(graph, GraphPlacement(unbundled=set(map(key, roots))))
    units = {unit.key: unit for unit in cut_at_shared(apart)}
    assert units.keys() == set(map(key, roots))
    assert all(set(unit.inputs) == {key(A), key(B)} for unit in units.values())


def test_who_is_in_a_bundle_is_no_part_of_what_it_is() -> None:
    first, second = shown(join()), shown(join(widths=(1, 1)))
    (both,) = bundles(first, second)
    stands = GraphPlacement(bundles={key(both): {key(first): 0, key(second): 0}})
    (one,) = bundles(first, placement=stands)
    assert key(one) == key(both)
    assert [member.key for member in one.members] == [key(first)]
