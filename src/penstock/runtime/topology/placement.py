"""Placement: who runs alone and who together, who could join others, and who must not."""

from collections.abc import Container

from penstock.engine.states.joins.window_join import WindowJoinState
from penstock.engine.states.sharing.bundle import BundleState
from penstock.engine.states.sharing.joins import JoinsState
from penstock.engine.states.windows.aggregate import AggregateState
from penstock.plan.operators import FlowBundle, JoinBundle, key
from penstock.plan.operators.bundles.member import inner_of
from penstock.plan.sharing.bundles import GraphPlacement, Shared, bundle_of
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_unit import LiveUnit


def placement_of(topology: Topology) -> GraphPlacement:
    """Return who runs alone, and who together; while quiesced."""
    units = {name for name, live in topology.units.items() if live.unit.bundle is None}
    units |= outlived(topology)
    bundles = {
        name: live.unit.lots | _other_lots(live)
        for name, live in topology.units.items()
        if live.unit.bundle is not None
    }
    return GraphPlacement(
        units, bundles, frozenset(topology.unbundled), _free(topology), _leaning(topology)
    )


def outlived(topology: Topology) -> set[str]:
    """Return the roots of bundles whose own queries have ended and that units still read.

    They go on as units of their own: trains that wait behind them would be lost if a reader
    became one with them and read on from their input.
    """
    read = {name for live in topology.units.values() for name in live.unit.inputs}
    members = {
        member.key
        for live in topology.units.values()
        if isinstance(live.unit.bundle, Shared)
        for member in live.unit.bundle.members
    }
    return (members & read) - topology.outputs


def may_bundle(topology: Topology) -> bool:
    """Say whether a cut would let a query join a bundle, or another lot of it."""
    regroup = any(_other_lots(live) for live in topology.units.values())
    return topology.must_cut or regroup or bool(_free(topology) - topology.unbundled)


def _leaning(topology: Topology) -> set[str]:
    """Return the roots whose unit reads nodes that a bundle would compute for them.

    So do joins of which some tuples are known to come no more, and aggregates whose partials are
    in partitions: bundles know nothing of that.
    """
    return {
        name
        for name, live in topology.units.items()
        if live.unit.bundle is None
        and (bundle := bundle_of(live.unit.root)) is not None
        and (
            not inner_of(bundle.members[0]).isdisjoint(live.unit.inputs)
            or (isinstance(live.state, WindowJoinState) and live.state.ended)
            or (isinstance(live.state, AggregateState) and live.state.partitions)
        )
    }


def _free(topology: Topology) -> set[str]:
    """Return the roots that run alone and could join a bundle: both have come as far."""
    found: set[str] = set()
    for live in topology.units.values():
        bundle = bundle_of(live.unit.root)
        bundle = bundle if bundle is not None and _may_join(live, bundle) else None
        other = topology.units.get(key(bundle)) if bundle is not None else None
        if other is not None and _have_come_as_far(live, other):
            same = all(
                topology.place(live, n) == topology.place(other, n) for n in live.unit.inputs
            )
            found |= {live.unit.key} if same and not (live.replay or other.replay) else set()
    return found


def _other_lots(live: LiveUnit) -> dict[str, int]:
    """Return who should be in another lot of a bundle, unless runs have to be done again first."""
    return live.state.lots() if isinstance(live.state, BundleState) and not live.replay else {}


def _may_join(live: LiveUnit, bundle: Shared) -> bool:
    """Say whether what a unit keeps can be taken over by a bundle."""
    state = live.state
    if live.cause or live.history:
        return False
    if isinstance(bundle, FlowBundle):
        return state is None
    if isinstance(bundle, JoinBundle):
        return isinstance(state, WindowJoinState) and not state.ended
    return isinstance(state, AggregateState) and not state.ended and not state.partitions


def _have_come_as_far(live: LiveUnit, other: LiveUnit) -> bool:
    same = live.reading.marks == other.reading.marks
    if isinstance(live.state, WindowJoinState) and isinstance(other.state, JoinsState):
        return same and live.state.reached == other.state.reached
    return same


def needed_cuts(topology: Topology) -> set[str]:
    """Return the units that cannot be made part of another, or of several, right now.

    Somebody has trains of theirs to read, they are held, they are a query's own answer, or they
    have come farther in a stream, or less far, than what they would be one with.
    """
    roots = topology.outputs
    readers = {live.reader for live in topology.units.values()}
    needed = {
        name
        for name, live in topology.units.items()
        if (name in roots or live.cause or live.replay or live.history or live.unit.bundle)
        or ((buffer := topology.buffers.get(name)) and not readers.isdisjoint(buffer.behind()))
    }
    for live in topology.units.values():
        needed |= _at_odds(topology, live, needed)
    needed = {name for name in needed if topology.units[name].unit.bundle is None}
    return needed | outlived(topology)


def _at_odds(topology: Topology, live: LiveUnit, needed: Container[str]) -> set[str]:
    """Return the units below one that stand elsewhere in what several of them read."""
    parts, found = [live], {live.unit.key}
    for part in parts:
        below = {name for name in part.unit.inputs if name not in needed} - found
        parts += [topology.units[name] for name in below if name in topology.units]
        found |= below
    places: dict[str, set[int | None]] = {}
    for part in parts:
        for name in part.unit.inputs:
            places.setdefault(name, set()).add(topology.place(part, name))
    odd = {name for name, stood in places.items() if len(stood) > 1}
    return {part.unit.key for part in parts[1:] if not odd.isdisjoint(part.unit.inputs)}
