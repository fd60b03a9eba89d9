"""Restoration: what runs is put back where a checkpoint saw it; `checkpoint.py` wrote that."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from penstock.engine.states import KeptPart, KeptState, restored
from penstock.engine.states.answers import AnyState
from penstock.engine.states.tuples.take import TakeState
from penstock.engine.trains.buffers import Train
from penstock.engine.trains.rows import SMALL_ROWS, Rows, empty_table, in_memory
from penstock.errors import (
    HomeError,
    HomeFormatError,
    PenstockError,
    StateUnmatchedError,
    describe,
)
from penstock.model.definitions import QueryDefinition
from penstock.plan.operators import Operator, key
from penstock.plan.sharing.bundles import GraphPlacement
from penstock.runtime.durable.journal import Journal
from penstock.runtime.durable.manifest import (
    Checkpoint,
    Manifest,
    PartRecord,
    StateRecord,
    SuspendedRecord,
)
from penstock.runtime.durable.state_files import damaged
from penstock.runtime.sources.archive import Archive
from penstock.runtime.sources.source_reader import SourceReader
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_query import Away, LiveQuery
from penstock.runtime.work.live_rule import LiveTriggers
from penstock.runtime.work.live_unit import LiveUnit
from penstock.runtime.work.reading import Reading


def checked(journal: Journal, number: int, directory: Path) -> tuple[Checkpoint | None, list[str]]:
    """Return a checkpoint that can be read, and what is damaged of it."""
    try:
        manifest = Manifest.from_json(journal.checkpoint(number).manifest)
    except HomeFormatError:
        raise
    except HomeError as error:
        return None, [f"checkpoint {number}: {error.message}"]
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        return None, [f"checkpoint {number}: {describe(error)}"]
    return Checkpoint(number, manifest), [str(path) for path in damaged(directory, manifest.files)]


def knows(manifest: Manifest, name: str, root: Operator) -> bool:
    """Say whether the checkpoint has the query as it is defined now.

    A death between a definition and its checkpoint leaves one that it does not have.
    """
    kept = manifest.queries.get(name.lower())
    return kept is not None and kept.root == key(root)


def refuse_unmatched(manifest: Manifest, definition: QueryDefinition, root: Operator) -> None:
    """Raise where the checkpoint has the query by the same words and with another plan.

    That a function that it calls was changed, or that another version binds it otherwise, is no
    reason to begin anew without a word.
    """
    kept = manifest.queries.get(definition.name.lower())
    if kept is not None and kept.text == definition.text and kept.root != key(root):
        raise StateUnmatchedError(
            f"the state of query {definition.name} belongs to another plan than its definition "
            "gives now",
            hint="a function of it or Penstock has changed: RESUME QUERY begins it anew, from the "
            "next tuples on",
        )


def put_back(
    topology: Topology,
    manifest: Manifest,
    journal: Journal,
    directory: Path,
    reconnect: Callable[[GraphPlacement], None],
    now: float,
) -> None:
    """Put everything that is defined back where the checkpoint saw it; nothing runs yet.

    In this order: units are cut as they were, for states belong to them; sources go behind their
    last recorded train, since buffers over them start there; states and places of readers follow.
    """
    topology.unbundled = set(manifest.unbundled)
    reconnect(standing_in(manifest))
    note_gone(topology, manifest)
    for source_reader in topology.source_readers.values():
        restore_source_reader(
            source_reader, topology.archives.get(source_reader.key), manifest, journal, now
        )
    restore_buffers(topology, manifest, directory)
    for live in topology.units.values():
        restore_unit(live, manifest, journal, directory)
    for query in topology.queries.values():
        restore_query(query, manifest, journal)


def standing_in(manifest: Manifest) -> GraphPlacement:
    """Return who ran alone, and who together."""
    bundles = {name: kept.members for name, kept in manifest.units.items() if kept.members}
    alone = [name for name in manifest.units if name not in bundles]
    return GraphPlacement(alone, bundles, manifest.unbundled)


def note_gone(topology: Topology, manifest: Manifest) -> None:
    """Note what the checkpoint had and is no more, so that the journal forgets it with the next."""
    topology.gone |= {f"unit:{name}" for name in manifest.units if name not in topology.units}
    topology.gone |= {f"query:{name}" for name in manifest.queries if name not in topology.queries}
    topology.gone |= manifest.trigger_batches.keys() - topology.trigger_batches.keys()
    topology.gone_streams |= manifest.source_readers.keys() - topology.source_readers.keys()


def restore_source_reader(
    source_reader: SourceReader,
    archive: Archive | None,
    manifest: Manifest,
    journal: Journal,
    now: float,
) -> None:
    """Continue a stream behind its last recorded train; its source may be down."""
    kept = manifest.source_readers.get(source_reader.key)
    recorded = journal.trains_after(source_reader.key, kept.number if kept else 0)
    source_reader.restore(kept, recorded)
    if archive is not None:
        archive.forget_after(recorded[-1].number if recorded else source_reader.number)
    try:
        source_reader.open()
    except PenstockError as error:
        source_reader.failed(str(error), now)


def restore_buffers(topology: Topology, manifest: Manifest, directory: Path) -> None:
    """Put back what buffers held and where their readers stood; source readers come before."""
    for buffer in topology.buffers:
        kept = manifest.buffers.get(buffer.key)
        if kept is None:
            continue
        for reader in buffer.readers():
            # A query that was defined and not yet in a checkpoint begins where that stood.
            buffer.advance(reader, kept.readers.get(reader, kept.written))
        buffer.written, buffer.watermark = kept.written, kept.watermark
        buffer.high = buffer.gone = kept.high
        buffer.idle = kept.idle
        for each in kept.trains:
            count = each.info.rows
            empty = in_memory(empty_table(buffer.schema)) if not count else None
            rows = empty or _rows([directory / name for name in each.files], count)
            buffer.written = each.info.number - 1
            buffer.append(Train(each.info, rows))


def restore_unit(live: LiveUnit, manifest: Manifest, journal: Journal, directory: Path) -> None:
    """Put a unit back where the checkpoint saw it, with the runs recorded since."""
    if (kept := manifest.units.get(live.unit.key)) is not None:
        live.runs = kept.runs
        live.reading = Reading(dict(kept.marks), frozenset(kept.idle), kept.reached)
        live.time_is_up, live.ended = kept.time_is_up, kept.ended
        live.rows_in, live.rows_out = kept.rows_in, kept.rows_out
        live.late_rows, live.rows_before = dict(kept.late_rows), dict(kept.rows_before)
        live.history = {
            leaf: [_part(part, directory) for part in parts] for leaf, parts in kept.history.items()
        }
        if isinstance(live.state, TakeState):  # in the unit's own record, as homes have it
            live.state.taken, live.state.over = kept.taken, kept.ended
        elif live.unit.stateful is not None:
            live.state = _state(live.unit.stateful, kept.state, directory)
    # Runs that were recorded since are done again from this state on, with what was decided for
    # them then; new ones wait until there are none left.
    live.replay.extend(journal.runs_after(live.reader, live.runs))


def restore_query(query: LiveQuery, manifest: Manifest, journal: Journal) -> None:
    """Put a query back where the checkpoint saw it, with the runs recorded since."""
    if (kept := manifest.queries.get(query.name.lower())) is not None:
        query.runs, query.delivered = kept.runs, kept.delivered
        query.meter.rows = query.rows_settled = kept.rows
        query.deadline = kept.deadline
        query.missed_rows = kept.missed
    query.replay.extend(journal.runs_after(query.reader, query.runs))


def restore_suspended(query: LiveQuery, manifest: Manifest, now: Away) -> None:
    """Put back what a suspended query has missed; without a checkpoint of it, it misses from now.

    A death between its suspension and the checkpoint leaves one that is not in it.
    """
    without = SuspendedRecord(deadline=query.deadline)
    kept = manifest.suspended.get(query.name.lower(), without)
    query.missed_rows, query.deadline = kept.missed, kept.deadline
    query.away = Away(*kept.away) if kept.away is not None else now


def restore_triggers(each: LiveTriggers, manifest: Manifest, journal: Journal) -> None:
    """Put the reader of an event for rules back where the checkpoint saw it."""
    if (kept := manifest.trigger_batches.get(each.reader)) is not None:
        each.runs = kept.runs
    each.replay.extend(journal.runs_after(each.reader, each.runs))


def begun_at(manifest: Manifest, reader: str, rule: str) -> int | None:
    """Return the train of its event behind which a rule looks, None where that is not known."""
    kept = manifest.trigger_batches.get(reader)
    return None if kept is None else kept.rules.get(rule)


def restore_finished(query: LiveQuery, manifest: Manifest) -> None:
    """Put back the figures of a query that has ended."""
    if (kept := manifest.finished.get(query.name.lower())) is not None:
        query.rows_in, query.late_rows = kept.rows_in, kept.late_rows


def _state(stateful: Operator, kept: StateRecord | None, directory: Path) -> AnyState:
    if kept is None:
        return None
    parts = [KeptPart(_part(part, directory), part.facts) for part in kept.parts]
    return restored(stateful, KeptState(kept.facts, parts))


def _part(part: PartRecord, directory: Path) -> Rows:
    return _rows([directory / name for name in part.files], part.rows)


def _rows(paths: Sequence[Path], count: int) -> Rows:
    if len(paths) > 1:  # tasks wrote them
        return Rows(count, None, tuple(paths), owned=False, in_order=True)
    table = pq.ParquetFile(paths[0]).read() if count <= SMALL_ROWS else None
    return Rows(count, table, tuple(paths), owned=False, in_order=table is None)
