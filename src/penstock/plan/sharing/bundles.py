"""Bundling: which queries share one run over their input.

Members of one bundle have the same base. Those with windows are in *sections*, by keys and by what
they ask (`member.py`); those without windows make the same of their tuples. Only what stands is
given; who is in which bundle follows, and does not change for those that stand: a state moves only
where a query joins or leaves.
"""

import hashlib
import itertools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.plan.operators import (
    Bundle,
    Detect,
    EventBundle,
    FlowBundle,
    Gate,
    JoinBundle,
    Operator,
    key,
)
from penstock.plan.operators.bundles.event_member import EventMember, event_member
from penstock.plan.operators.bundles.join_member import JoinMember, join_member_of
from penstock.plan.operators.bundles.member import (
    Asking,
    FlowMember,
    Member,
    Section,
    flow_member_of,
    member_of,
)
from penstock.plan.operators.graph import Graph
from penstock.plan.operators.identity import REMEMBERED
from penstock.plan.sharing.post_aggregation import flow_post_aggregation_of
from penstock.plan.sharing.regroup import A_LOT

# So many filters are dearer one by one, each with a run of its own, than together.
FLOWS = 4

Shared = Bundle | FlowBundle | JoinBundle  # what a root alone can be in


@dataclass(frozen=True, slots=True)
class GraphPlacement:
    """What runs now: roots with a unit of their own, who is in each bundle, who stays apart.

    Of the roots in a bundle it is known in which lot of their section they are.

    `free` are roots with a unit of their own that may join a bundle that stands, `leaning` those
    whose unit reads something between their base and themselves that others share.
    """

    units: Collection[str] = ()
    bundles: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    unbundled: Collection[str] = ()
    free: Collection[str] = ()
    leaning: Collection[str] = ()


NOTHING = GraphPlacement()


def bundled(graph: Graph, placement: GraphPlacement = NOTHING) -> Graph:
    """Return the graph in which bundles stand for their members."""
    return _with_events(_with_bundles(graph, placement), placement)


def _with_events(graph: Graph, placement: GraphPlacement) -> Graph:
    """Return the graph in which detections over the same bases are one bundle, also a single one.

    A detection that is read as part of others is a root of its bundle like any other.
    """
    nodes = graph.nodes().items()
    detects = [each for name, each in nodes if isinstance(each, Detect)]
    bundles: dict[str, list[EventMember]] = {}
    for each in detects:
        if key(each) not in placement.unbundled and key(each) not in placement.units:
            bundle = EventBundle(each.inputs)
            bundles.setdefault(key(bundle), []).append(event_member(each))
    if not bundles:
        return graph
    given = {member.key for members in bundles.values() for member in members}
    roots = {name: root for name, root in graph.queries.items() if key(root) not in given}
    for name, members in bundles.items():
        ordered = tuple(sorted(members, key=lambda each: each.key))
        roots[f"bundle {name}"] = EventBundle(ordered[0].detect.inputs, ordered)
    return Graph(roots, graph.given | given, graph.alone)


def _with_bundles(graph: Graph, placement: GraphPlacement) -> Graph:
    found: dict[str, list[Shared]] = {}
    for root in graph.queries.values():
        if key(root) not in placement.unbundled and (alone := bundle_of(root)) is not None:
            found.setdefault(key(alone), []).append(alone)
    gated = {
        key(each.input.input)
        for each in itertools.chain(*found.values())
        if isinstance(each, Bundle) and isinstance(each.input, Gate)
    }
    chosen: dict[str, Shared] = {}
    for name, each in found.items():
        whole, stands = _together(each), placement.bundles.get(name)
        is_beside = isinstance(whole, Bundle) and key(whole.input) in gated
        if (joined := _joined(whole, placement, stands, is_beside=is_beside)) is not None:
            chosen[name] = joined
    given = {member.key for bundle in chosen.values() for member in bundle.members}
    roots = {name: root for name, root in graph.queries.items() if key(root) not in given}
    unbundled = {
        key(root): _bases(root) for root in roots.values() if key(root) in placement.unbundled
    }
    roots |= {f"bundle {name}": bundle for name, bundle in chosen.items()}
    return Graph(roots, frozenset(given), unbundled)


def bundle_of(root: Operator) -> Shared | None:
    """Return the bundle that a root could be in, with it as the only member."""
    if (found := _known.get(id(root))) is not None:
        return found[1]
    if len(_known) >= REMEMBERED:
        _known.clear()
    _known[id(root)] = (root, made := _made(root))
    return made


# By identity, like the names of operators: two systems may have streams of one name.
_known: dict[int, tuple[Operator, Shared | None]] = {}


def _bases(root: Operator) -> tuple[Operator, ...]:
    """Return what a root that was in a bundle reads: it shares nothing above that with others.

    They may have come farther, or less far.
    """
    bundle = bundle_of(root)
    return bundle.members[0].bases if bundle is not None else (root,)


def _made(root: Operator) -> Shared | None:
    if (member := member_of(root)) is not None:
        return _bundle(member)
    if (join := join_member_of(root)) is not None:
        return _join_bundle(join)
    if (flow := flow_member_of(root)) is not None:
        return _flow_bundle(flow)
    return None


def _joined(
    bundle: Shared,
    placement: GraphPlacement,
    stands: Mapping[str, int] | None,
    *,
    is_beside: bool = False,
) -> Shared | None:
    """Return the bundle of those that run together, or None where there are none.

    One that has a unit of its own reads on from its own place: it can begin a bundle, and join
    one only where both have come as far. One is a bundle by itself behind a gate, and where it
    `is_beside` one: bundles on both sides of an open gate look at tuples together.
    """
    alone = sorted({m.key for m in bundle.members} & set(placement.units) - set(placement.leaning))
    stay = [name for name in alone if name not in placement.free] if stands else alone[1:]
    stay += placement.leaning
    joined = [member for member in bundle.members if member.key not in stay]
    enough = FLOWS if isinstance(bundle, FlowBundle) else 2
    wanted = len(joined) > 1 and len(bundle.members) >= enough
    wanted = wanted or is_beside
    wanted = wanted or any(isinstance(each, Member) and each.scaling for each in joined)
    if not joined or not (stands or wanted):
        return None
    return _with(bundle, _in_lots(joined, stands or {}))


def _in_lots(members: Collection[Asking], stands: Mapping[str, int]) -> list[Asking]:
    """Return the members, those with predicate bits in the first lot of their section with room."""
    sizes: Counter[Section] = Counter()
    placed: list[Asking] = []
    for member in sorted(members, key=lambda each: (each.key not in stands, each.key)):
        if isinstance(member, Member) and member.section.predicates:
            lots = itertools.count() if member.key not in stands else [stands[member.key]]
            tried = (replace(member, lot=lot) for lot in lots)
            found = next(m for m in tried if m.key in stands or sizes[m.section] < A_LOT)
            sizes[found.section] += 1
            placed.append(found)
        else:
            placed.append(member)
    return placed


def _together(bundles: Sequence[Shared]) -> Shared:
    return _with(bundles[0], [member for each in bundles for member in each.members])


def _with(bundle: Shared, members: Collection[Asking]) -> Shared:
    """Return the bundle with these members, each once, in the order of their names."""
    ordered = {member.key: member for member in sorted(members, key=lambda each: each.key)}
    if isinstance(bundle, Bundle):
        kept = tuple(each for each in ordered.values() if isinstance(each, Member))
        return replace(bundle, members=kept)
    if isinstance(bundle, JoinBundle):
        joins = tuple(each for each in ordered.values() if isinstance(each, JoinMember))
        return replace(bundle, members=joins)
    flows = tuple(each for each in ordered.values() if isinstance(each, FlowMember))
    return replace(bundle, members=flows)


def _bundle(member: Member) -> Bundle:
    return Bundle(member.base, member.aggregate.time, (member,))


def _flow_bundle(member: FlowMember) -> FlowBundle:
    shape = hashlib.sha256(repr(flow_post_aggregation_of(member).shape).encode()).hexdigest()[:12]
    return FlowBundle(member.base, f"shape {shape}", (member,))


def _join_bundle(member: JoinMember) -> JoinBundle:
    (left, right), (mine, theirs) = member.bases, member.join.sides
    return JoinBundle(left, right, (mine.time, theirs.time), member.keys, (member,))
