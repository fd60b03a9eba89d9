"""Who runs together with whom."""

from penstock.plan.operators import Bundle, FlowBundle, Operator, key
from penstock.plan.operators.bundles.member import Member
from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.bundles import GraphPlacement, bundled
from penstock.plan.sharing.regroup import A_LOT
from penstock.plan.sharing.units import cut_at_shared
from tests.unit.plan.bundles.queries import MAX, SCAN, aggregate, kept, shown


def graph(*roots: Operator) -> Graph:
    return Graph({f"q{place}": root for place, root in enumerate(roots)})


def bundles(found: Graph) -> list[Bundle | FlowBundle]:
    return [root for root in found.queries.values() if isinstance(root, Bundle | FlowBundle)]


ONE = aggregate(kept(SCAN, "`x` > 1"))
TWO = aggregate(kept(SCAN, "`x` > 2"), size=20, aggregates=(MAX,))
THREE = kept(aggregate(size=5, keys=()), "`a0` > 3")


def test_one_query_runs_alone() -> None:
    assert bundled(graph(ONE)) == graph(ONE)


def test_windows_over_one_input_run_together_whatever_they_ask() -> None:
    (bundle,) = bundles(bundled(graph(ONE, TWO, THREE)))
    assert isinstance(bundle, Bundle)
    assert {member.key for member in bundle.members} == {key(ONE), key(TWO), key(THREE)}
    assert len({member.section for member in bundle.members}) == 2


def test_equal_queries_are_one_member() -> None:
    (bundle,) = bundles(bundled(graph(ONE, ONE, TWO)))
    assert len(bundle.members) == 2


def test_a_bundle_is_one_unit_that_gives_its_members_rows() -> None:
    (unit,) = cut_at_shared(bundled(graph(ONE, TWO)))
    assert {key(root) for root in unit.roots} == {key(ONE), key(TWO)}
    assert unit.inputs == (key(SCAN),)


def test_who_reads_a_member_reads_its_trains() -> None:
    reader = shown(kept(ONE, "`a0` > 1"), ("k0", "`k0`"))
    other = aggregate(kept(SCAN, "`x` > 5"), keys=("`x`",))
    units = cut_at_shared(bundled(graph(ONE, TWO, other), GraphPlacement(unbundled={key(other)})))
    assert {unit.bundle is None for unit in units} == {True, False}
    (bundle,) = bundles(bundled(graph(ONE, TWO, reader)))
    assert key(reader) in {member.key for member in bundle.members}


def test_one_that_runs_alone_begins_a_bundle_and_joins_none() -> None:
    (begun,) = bundles(bundled(graph(ONE, TWO), GraphPlacement(units={key(ONE)})))
    assert len(begun.members) == 2
    stands = GraphPlacement(units={key(ONE)}, bundles={key(begun): {key(TWO): 0}})
    (bundle,) = bundles(bundled(graph(ONE, TWO, THREE), stands))
    assert {member.key for member in bundle.members} == {key(TWO), key(THREE)}
    free = GraphPlacement(stands.units, stands.bundles, free={key(ONE)})
    (bundle,) = bundles(bundled(graph(ONE, TWO, THREE), free))
    assert len(bundle.members) == 3


def test_who_is_set_apart_is_in_no_bundle() -> None:
    assert bundles(bundled(graph(ONE, TWO), GraphPlacement(unbundled={key(ONE)}))) == []


def test_those_set_apart_share_nothing_above_their_base() -> None:
    fast = kept(SCAN, "`x` * 2 > 1")
    roots = aggregate(fast), shown(fast, ("k", "`k`"))
    apart = bundled(graph(*roots, ONE, TWO), GraphPlacement(unbundled=set(map(key, roots))))
    units = {unit.key: unit for unit in cut_at_shared(apart)}
    assert key(fast) not in units
    assert all(units[key(root)].inputs == (key(SCAN),) for root in roots)


def test_who_leans_on_what_others_share_joins_no_bundle() -> None:
    (begun,) = bundles(bundled(graph(ONE, TWO)))
    leaning = GraphPlacement(units={key(ONE)}, leaning={key(ONE)})
    assert bundles(bundled(graph(ONE, TWO), leaning)) == []
    stands = GraphPlacement({key(ONE)}, {key(begun): {key(TWO): 0}}, (), {key(ONE)}, {key(ONE)})
    (bundle,) = bundles(bundled(graph(ONE, TWO), stands))
    assert [member.key for member in bundle.members] == [key(TWO)]


def test_a_bundle_stands_while_somebody_is_in_it() -> None:
    (begun,) = bundles(bundled(graph(ONE, TWO)))
    stands = GraphPlacement(bundles={key(begun): {key(ONE): 0, key(TWO): 0}})
    (bundle,) = bundles(bundled(graph(ONE), stands))
    assert [member.key for member in bundle.members] == [key(ONE)]


def test_claims_come_in_lots_that_stay() -> None:
    roots = [aggregate(kept(SCAN, f"`x` * 2 > {n}")) for n in range(A_LOT + 3)]
    (bundle,) = bundles(bundled(graph(*roots)))
    lots = {m.key: m.lot for m in bundle.members if isinstance(m, Member)}
    assert sorted(lots.values()).count(1) == 3
    (again,) = bundles(bundled(graph(*roots[5:]), GraphPlacement(bundles={key(bundle): lots})))
    assert {m.key: m.lot for m in again.members if isinstance(m, Member)} == {
        key(root): lots[key(root)] for root in roots[5:]
    }


def test_a_few_filters_run_alone_and_many_together() -> None:
    filters = [shown(kept(SCAN, f"`x` > {n}"), ("k", "`k`")) for n in range(6)]
    assert bundles(bundled(graph(*filters[:3]))) == []
    (bundle,) = bundles(bundled(graph(*filters)))
    assert isinstance(bundle, FlowBundle)
    other = shown(kept(SCAN, "`x` > 7"), ("k", "upper(`k`)"))
    (bundle,) = bundles(bundled(graph(*filters, other)))
    assert len(bundle.members) == 6
