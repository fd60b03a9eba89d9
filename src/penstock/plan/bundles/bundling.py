"""Bundling: which queries share one run over their input.

Members of one bundle have the same base and keys, ask about the same columns, and have panes on
one grid. Only what stands is given; who is in which bundle follows, and does not change for those
that stand: a state moves only where somebody joins or leaves.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from penstock.plan.bundles.member import Member, member_of
from penstock.plan.graph import Graph
from penstock.plan.operators import Bundle, key


@dataclass(frozen=True, slots=True)
class Standing:
    """What runs now: roots with a unit of their own, the roots in each bundle, who stays apart.

    `free` are roots with a unit of their own that may join a bundle that stands.
    """

    units: Collection[str] = ()
    bundles: Mapping[str, Collection[str]] = field(default_factory=dict)
    apart: Collection[str] = ()
    free: Collection[str] = ()


NOTHING = Standing()


def bundled(graph: Graph, standing: Standing = NOTHING) -> Graph:
    """Return the graph in which bundles stand for their members."""
    found: dict[str, dict[str, Member]] = {}
    bundles: dict[str, Bundle] = {}
    for root in graph.queries.values():
        if key(root) not in standing.apart and (member := member_of(root)) is not None:
            bundle = _bundle(member)
            name = key(bundle)
            bundles.setdefault(name, bundle)
            found.setdefault(name, {})[key(root)] = member
    chosen = {
        name: joined
        for name, members in found.items()
        if (joined := _joined(members, standing, standing.bundles.get(name)))
    }
    given = {root for joined in chosen.values() for root in joined}
    roots = {name: root for name, root in graph.queries.items() if key(root) not in given}
    for name, joined in chosen.items():
        members = tuple(joined[each] for each in sorted(joined))
        roots[f"bundle {name}"] = replace(bundles[name], members=members)
    return Graph(roots, frozenset(given))


def _joined(
    members: Mapping[str, Member], standing: Standing, stands: Collection[str] | None
) -> dict[str, Member]:
    """Return the members that run together.

    One that has a unit of its own reads on from its own place: it can begin a bundle, and join
    one only where both have come as far.
    """
    alone = [name for name in sorted(members) if name in standing.units]
    if stands is not None:
        stay = [name for name in alone if name not in standing.free]
    else:
        stay = alone[1:]
    joined = {name: member for name, member in members.items() if name not in stay}
    return joined if stands is not None or len(joined) > 1 else {}


def _bundle(member: Member) -> Bundle:
    aggregate, asked = member.aggregate, member.asked
    return Bundle(
        member.base,
        aggregate.time,
        aggregate.keys,
        asked.columns,
        bool(asked.claims),
        member.grid,
    )
