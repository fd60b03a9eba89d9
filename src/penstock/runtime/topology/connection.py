"""How a change of the graph re-connects what runs: states and places go over to the new units."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from penstock.engine.states import BundleMembers, State, counting_state, new_state, new_together
from penstock.engine.states.sites import SitesState
from penstock.engine.trains.buffers import BufferPool
from penstock.model.trains import BEGIN_OF_TIME
from penstock.plan.operators import FlowBundle, Operator, Ordered, Scan, key
from penstock.plan.operators.bundles.join_member import JoinMember
from penstock.plan.operators.bundles.member import Asking, Member
from penstock.plan.sharing.units import Unit
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_unit import LiveUnit
from penstock.runtime.work.reading import Reading

Place = tuple[int, int, bool]  # the last train read, the watermark after it, and if it was idle


def connect(topology: Topology, units: Sequence[Unit]) -> None:
    """Make these the units: states and places go over to them, new ones begin now."""
    old = dict(topology.units)
    states = {
        key(live.unit.stateful): live
        for live in old.values()
        if live.unit.stateful is not None and live.state is not None
    }
    places = _places(old.values(), topology.buffers)
    # Those that leave a bundle take their share along before the bundle is another.
    alone = [unit for unit in units if unit.bundle is None]
    together = [unit for unit in units if unit.bundle is not None]
    topology.units = {unit.key: _live(topology, unit, old.get(unit.key), states) for unit in alone}
    for unit in together:
        topology.units[unit.key] = _live_bundle(topology, unit, old)
    topology.must_cut = False
    topology.dirty |= old.keys() | topology.units.keys()
    topology.unbundled &= topology.outputs
    go_on_counting(topology.units.values(), old)
    topology.writers = {
        key(root): live for live in topology.units.values() for root in live.unit.roots
    }
    for name, live in topology.units.items():
        if live is not old.get(name):
            topology.recut.add(name)
            _register(topology, live, places)
    for query in topology.queries.values():
        topology.buffers.open(query.input, query.root.schema).register(query.reader)
    for each in topology.trigger_batches.values():
        topology.buffers.open(each.input, each.event.schema).register(each.reader)
    left = [live for name, live in old.items() if name not in topology.units]
    topology.gone |= {live.reader for live in left}
    topology.ledgers |= {
        key(live.state.operator): (live.state.stages, live.state.ledger)
        for live in left
        if isinstance(live.state, SitesState)
    }
    _unregister_gone(topology)


def _live(
    topology: Topology, unit: Unit, old: LiveUnit | None, states: Mapping[str, LiveUnit]
) -> LiveUnit:
    if old is not None and old.unit == unit:
        return old
    live = LiveUnit(unit, topology.late_directory, counting_state(unit.root))
    if old is not None:  # the same root over other leaves
        live.runs = old.runs
        live.rows_in, live.rows_out = old.rows_in, old.rows_out
        live.time_is_up, live.ended = old.time_is_up, old.ended
        if unit.stateful is None and old.unit.stateful is None:
            live.state = old.state  # it goes on counting
    if unit.stateful is not None:
        same = old is not None and old.unit.stateful == unit.stateful
        if (begun := old if same else states.get(key(unit.stateful))) is not None:
            live.state, live.late_rows = begun.state, begun.late_rows
            live.history, live.reading = begun.history, Reading(reached=begun.reading.reached)
        elif (left := _left(topology, unit.stateful)) is not None:
            _leave(live, *left)
        else:
            live.state = _new_state(topology, unit.stateful)
            live.wants_history = getattr(unit.stateful, "reads_history", False)
    elif (output := topology.buffers.get(unit.key)) is not None and output.written:
        live.reading = Reading(reached=(output.watermark,))
        if old is None and (bundle := topology.writers.get(unit.key)) is not None:
            live.rows_in = bundle.rows_in - bundle.rows_before.get(unit.key, 0)
    return live


def _left(topology: Topology, stateful: Operator) -> tuple[LiveUnit, Asking] | None:
    """Return the bundle that kept an operator's state, and the member it was kept for.

    Of several with the same windows, the one that has been there for longest.
    """
    found: list[tuple[LiveUnit, Asking]] = [
        (live, member)
        for live in topology.units.values()
        if live.unit.bundle is not None and not isinstance(live.unit.bundle, FlowBundle)
        for member in live.unit.bundle.members
        if _judge(member) == key(stateful)
    ]
    return min(found, key=lambda each: each[0].rows_before.get(each[1].key, 0), default=None)


def _leave(live: LiveUnit, bundle: LiveUnit, member: Asking) -> None:
    """Continue a member alone, with what its bundle kept for it."""
    assert isinstance(bundle.state, BundleMembers)  # noqa: S101  (a bundle's is)
    live.state = bundle.state.take_out(member)
    live.reading = Reading(reached=bundle.reading.reached)
    judge = _judge(member)
    live.late_rows = {judge: bundle.late_rows.get(judge, 0)}
    live.rows_in = bundle.rows_in - bundle.rows_before.get(member.key, 0)


def _live_bundle(topology: Topology, unit: Unit, old: Mapping[str, LiveUnit]) -> LiveUnit:
    """Return a bundle's unit with its members as they are now."""
    bundle, before = unit.bundle, old.get(unit.key)
    assert bundle is not None  # noqa: S101  (the caller looked)
    live = LiveUnit(unit, topology.late_directory)
    state = before.state if before is not None else None
    if not isinstance(state, BundleMembers):
        state = new_together(bundle)
    if before is not None:
        if before.unit == unit and before.unit.lots == unit.lots:
            return before
        live.runs, live.rows_in, live.rows_out = before.runs, before.rows_in, before.rows_out
        stayed = {key(root) for root in before.unit.roots}  # who left comes back as new
        live.rows_before = {n: rows for n, rows in before.rows_before.items() if n in stayed}
        live.late_rows = before.late_rows
        live.reading, live.replay = before.reading, before.replay
        live.busy_seconds = before.busy_seconds
    live.state = state
    for member in bundle.members:
        _join(live, state, member, old.get(member.key))
    state.rearranged(bundle, _begin(topology, bundle))
    return live


def _join(live: LiveUnit, state: BundleMembers, member: Asking, alone: LiveUnit | None) -> None:
    if member.key in live.rows_before:
        return
    live.rows_before[member.key] = live.rows_in
    if alone is not None and alone.unit.bundle is None:
        if not isinstance(alone.state, BundleMembers):
            state.take_in(member, alone.state)
        live.reading = replace(live.reading, reached=alone.reading.reached)
        live.late_rows |= alone.late_rows
        live.rows_before[member.key] -= alone.rows_in


def _give_history(topology: Topology, live: LiveUnit) -> None:
    """Begin a new unit's first run with what its streams had before it."""
    live.wants_history = False
    for leaf in live.unit.leaves:
        buffer = topology.buffers.get(key(leaf))
        if isinstance(leaf, Scan) and buffer is not None:
            rows = topology.history(leaf, buffer.readers()[live.reader])
            if rows:
                live.history[key(leaf)] = rows


def _new_state(topology: Topology, operator: Operator) -> State:
    """Return the state of an operator that sees everything only from now on, or all."""
    if getattr(operator, "reads_history", False):
        return new_state(operator, BEGIN_OF_TIME)
    return new_state(operator, _begin(topology, operator))


def _begin(topology: Topology, operator: Operator) -> int:
    """Return the time from which a reader that begins now sees everything."""
    buffers = [topology.buffers.get(key(node)) for node in _on_its_axis(operator)]
    highs = [b.high + 1 for b in buffers if b is not None and b.high is not None]
    return max(highs, default=BEGIN_OF_TIME)


def _register(topology: Topology, live: LiveUnit, places: Mapping[tuple[str, str], Place]) -> None:
    owners = live.unit.owners
    members = {key(node) for node in live.unit.members()}
    for name, leaf in zip(live.unit.inputs, live.unit.leaves, strict=True):
        buffer = topology.buffers.open(name, leaf.schema)
        found = {node: at for (node, source), at in places.items() if source == name}
        # What a state has seen decides; what lies below it may be part of other units, too.
        taken_over = [at for node, at in found.items() if node in owners] or [
            at for node, at in found.items() if node in members
        ]
        now = (buffer.written, buffer.watermark, buffer.idle)
        number, mark, idle = min(taken_over, default=now)
        buffer.register(live.reader, number)
        if name not in (reading := live.reading).marks:
            live.reading = replace(
                reading,
                marks={**reading.marks, name: mark},
                idle=reading.idle | ({name} if idle else set()),
            )
    if live.wants_history:
        _give_history(topology, live)
    promises = live.promises()
    for root in live.unit.roots:
        output = topology.buffers.open(key(root), root.schema)
        if not output.written:  # those that read it may wait long for its first train
            output.watermark, output.idle = promises[key(root)], live.is_idle


def _unregister_gone(topology: Topology) -> None:
    wanted = {(live.reader, name) for live in topology.units.values() for name in live.unit.inputs}
    wanted |= {(query.reader, query.input) for query in topology.queries.values()}
    wanted |= {(archive.reader, name) for name, archive in topology.archives.items()}
    wanted |= {(each.reader, each.input) for each in topology.trigger_batches.values()}
    for buffer in topology.buffers:
        for reader in buffer.readers():
            if (reader, buffer.key) not in wanted:
                buffer.unregister(reader)
        if buffer.key not in topology.writers and buffer.key not in topology.source_readers:
            topology.buffers.drop(buffer.key)


def _judge(member: Asking) -> str:
    """Return the operator whose state a bundle keeps for a member."""
    match member:
        case Member():
            return key(member.aggregate)
        case JoinMember():
            return key(member.join)
        case _:
            return member.key


def _on_its_axis(operator: Operator) -> Iterable[Operator]:
    """Yield the nodes below whose event times an operator counts in: numbers are no times."""
    for each in operator.inputs:
        yield each
        if not (isinstance(each, Ordered) and each.axis == "number"):
            yield from _on_its_axis(each)


def _places(units: Iterable[LiveUnit], buffers: BufferPool) -> dict[tuple[str, str], Place]:
    """Return how far each node's unit has read each of its inputs, by (node, input)."""
    found: dict[tuple[str, str], Place] = {}
    for live in units:
        for name in live.unit.inputs:
            buffer = buffers.get(name)
            if buffer is not None and live.reader in buffer.readers():
                mark = live.reading.marks.get(name, BEGIN_OF_TIME)
                place = (buffer.readers()[live.reader], mark, name in live.reading.idle)
                found |= {(key(node), name): place for node in live.unit.members()}
                found |= {(node, name): place for node in live.unit.owners}
    return found


def go_on_counting(units: Iterable[LiveUnit], old: Mapping[str, LiveUnit]) -> None:
    """Carry the counts of the streams' tuples over to units that are cut differently.

    One inside an old unit goes on with that one's, and so does one that swallows an old unit.
    """
    readers = [live for live in old.values() if _reads_streams(live)]
    inside = {key(node): live.rows_in for live in readers for node in live.unit.members()}
    now = list(units)
    names = {live.unit.key for live in now}
    gone = {live.unit.key: live.rows_in for live in readers if live.unit.key not in names}
    for live in now:
        if live is not old.get(live.unit.key) and _reads_streams(live):
            swallowed = (gone.get(key(node), 0) for node in live.unit.members())
            live.rows_in = max(live.rows_in, inside.get(live.unit.key, 0), *swallowed)


def _reads_streams(live: LiveUnit) -> bool:
    """Say whether a unit, and no bundle, reads what comes in."""
    return live.unit.bundle is None and any(isinstance(leaf, Scan) for leaf in live.unit.leaves)
