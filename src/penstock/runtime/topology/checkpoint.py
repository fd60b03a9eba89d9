"""Checkpoints: the topology's state as Parquet files and one manifest; recovery is the way back.

A checkpoint is written while quiesced. Source trains that somebody must still read are not in it:
they are read again from the source by their recorded boundaries. Trains between operators, and the
partials of aggregates, are files in the state directory, written once and named in the manifest
with their checksums. They are on disk before the journal has the manifest.

The checkpoint before the last one stays, with all that a replay from it needs, unless the graph has
changed in between: recovery goes back to it where the last one is damaged (0029).

After a change that only adds, what it does not touch keeps its record of the last checkpoint
(`added.py`): nothing of it is written again.
"""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.engine.interfaces.interface import Arriving
from penstock.engine.states.tuples.take import TakeState
from penstock.engine.trains.buffers import Buffer
from penstock.engine.trains.rows import Rows, link_or_copy, write_parquet
from penstock.runtime.durable.journal import Journal
from penstock.runtime.durable.manifest import (
    BETWEEN,
    BufferRecord,
    Checkpoint,
    Ends,
    FinishedRecord,
    Manifest,
    PartRecord,
    QueryRecord,
    SourceRecord,
    StateRecord,
    SuspendedRecord,
    TrainRecord,
    TriggerRecord,
    UnitRecord,
)
from penstock.runtime.durable.state_files import put_on_disk
from penstock.runtime.topology.added import Added, added_to, only_adds
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_query import LiveQuery
from penstock.runtime.work.live_rule import LiveTriggers
from penstock.runtime.work.live_unit import LiveUnit


def write_checkpoint(
    topology: Topology, journal: Journal, directory: Path, decided: Mapping[str, Any] | None = None
) -> None:
    """Write the topology down, then remove what neither this checkpoint nor the last one needs.

    `decided` is what deciders keep: `statistics` and `control`.
    """
    manifest = _manifest(topology, directory, decided or {})
    for archive in topology.archives.values():
        archive.to_disk()
    last = topology.checkpoint
    can_go_back = last is not None and _can_go_back(topology, last.manifest, manifest)
    _write(topology, journal, directory, manifest, last if can_go_back else None)


def write_addition(
    topology: Topology, journal: Journal, directory: Path, decided: Mapping[str, Any] | None = None
) -> bool:
    """Write down what a change has added, beside all that the last checkpoint has of the rest.

    False where that does not do, and nothing was written.
    """
    last, decided = topology.checkpoint, decided or {}
    if last is None or not only_adds(topology, last.manifest, decided.get("control", {})):
        return False
    manifest = _with_added(topology, directory, last.manifest, decided)
    _write(topology, journal, directory, manifest, None)
    return True


def _write(
    topology: Topology,
    journal: Journal,
    directory: Path,
    manifest: Manifest,
    older: Checkpoint | None,
) -> None:
    """Put the files on disk and record the manifest; keep what the older checkpoint needs.

    What was pushed goes to the disk with them: a checkpoint must not outlive what it has read.
    """
    known = topology.checkpoint.manifest.files if topology.checkpoint is not None else {}
    interfaces = (each.interface for each in topology.source_readers.values())
    pushed = [each.to_disk for each in interfaces if isinstance(each, Arriving)]
    manifest = replace(manifest, files=put_on_disk(directory, set(manifest.names), known, pushed))
    topology.checkpoint = _record(topology, journal, manifest, older)
    _let_go(topology, directory, manifest, older)


def _with_added(
    topology: Topology, directory: Path, last: Manifest, decided: Mapping[str, Any]
) -> Manifest:
    """Return the last manifest with what stands otherwise now; places are as each record's."""
    added = added_to(topology, last)
    own = {topology.units[name].reader: topology.units[name].runs for name in added.units}
    own |= {topology.queries[name].reader: topology.queries[name].runs for name in added.queries}
    standing = {live.reader for live in topology.units.values()}
    standing |= {query.reader for query in topology.queries.values()}
    runs = {reader: at for reader, at in last.ends.runs.items() if reader in standing}
    return replace(
        last,
        buffers={
            buffer.key: _buffer(buffer, directory, None)
            if buffer.key in added.buffers
            else _with_readers(buffer, last.buffers[buffer.key], added)
            for buffer in topology.buffers
        },
        units={
            name: _unit(live, directory) if name in added.units else last.units[name]
            for name, live in topology.units.items()
        },
        queries={
            name: _query(query) if name in added.queries else last.queries[name]
            for name, query in topology.queries.items()
        },
        ends=Ends(last.ends.trains, runs | own),
        **decided,
    )


def _with_readers(buffer: Buffer, kept: BufferRecord, added: Added) -> BufferRecord:
    """Return a buffer's record with the readers of now; those that came or changed are ahead."""
    places = {
        reader: at if reader in added.readers else kept.readers.get(reader, at)
        for reader, at in buffer.readers().items()
    }
    return replace(kept, readers=places)


def _manifest(topology: Topology, directory: Path, decided: Mapping[str, Any]) -> Manifest:
    slowest = {
        source_reader.key: _slowest(topology, source_reader.key, source_reader.number)
        for source_reader in topology.source_readers.values()
    }
    source_readers = {
        source_reader.key: source_reader.snapshot(slowest[source_reader.key])
        for source_reader in topology.source_readers.values()
    }
    runs = {live.reader: live.runs for live in topology.units.values()}
    runs |= {query.reader: query.runs for query in topology.queries.values()}
    runs |= {each.reader: each.runs for each in topology.trigger_batches.values()}
    return Manifest(
        source_readers=source_readers,
        buffers={
            buffer.key: _buffer(buffer, directory, source_readers.get(buffer.key))
            for buffer in topology.buffers
        },
        units={live.unit.key: _unit(live, directory) for live in topology.units.values()},
        queries={query.name.lower(): _query(query) for query in topology.queries.values()},
        suspended={query.name.lower(): _suspended(query) for query in topology.suspended.values()},
        finished={
            query.name.lower(): FinishedRecord(query.rows_in, query.late_rows)
            for query in topology.finished.values()
        },
        tables=topology.tables.kept() if topology.tables is not None else {},
        trigger_batches={
            each.reader: _trigger_batches(each) for each in topology.trigger_batches.values()
        },
        unbundled=tuple(sorted(topology.unbundled)),
        ends=Ends(slowest, runs),
        **decided,
    )


def _record(
    topology: Topology, journal: Journal, manifest: Manifest, older: Checkpoint | None
) -> Checkpoint:
    """Commit the checkpoint, then trim what neither it nor the older one needs."""
    ends = (older.manifest if older is not None else manifest).ends
    with journal.together():
        for reader in topology.gone:
            journal.forget_unit(reader)
        for stream in topology.gone_streams:
            journal.forget_stream(stream)
        for live in topology.units.values():
            if not live.replay:  # a run that failed before its unit was cut anew is void
                journal.take_back_runs(live.reader, live.runs)
        keep = older.number if older is not None else None
        number = journal.write_checkpoint(
            manifest.to_json(), trains=ends.trains, runs=ends.runs, keep=keep
        )
    topology.recut.clear()
    topology.gone.clear()
    topology.gone_streams.clear()
    return Checkpoint(number, manifest)


def _let_go(
    topology: Topology, directory: Path, manifest: Manifest, older: Checkpoint | None
) -> None:
    """Remove what neither checkpoint needs: files, versions of tables, what sources keep."""
    oldest = older.manifest if older is not None else manifest
    if topology.tables is not None:
        topology.tables.tidy()
    for name, archive in topology.archives.items():
        archive.safe = oldest.ends.trains.get(name, 0)
    for source_reader in topology.source_readers.values():
        boundary = oldest.source_readers[source_reader.key].boundary
        if boundary is not None:
            source_reader.interface.commit(boundary)
    _remove_others(directory, {*manifest.names, *oldest.names})


def _can_go_back(topology: Topology, old: Manifest, new: Manifest) -> bool:
    """Say whether recovery may start from the older checkpoint: no replay crosses a change."""
    return not topology.gone and not topology.gone_streams and _graph(old) == _graph(new)


def _graph(manifest: Manifest) -> list[Any]:
    """Return what must not have changed between a checkpoint and what is done again after it."""
    names = [
        sorted(part)
        for part in (manifest.source_readers, manifest.units, manifest.queries, manifest.suspended)
    ]
    units = [(name, kept.members) for name, kept in sorted(manifest.units.items())]
    rules = [(name, sorted(kept.rules)) for name, kept in sorted(manifest.trigger_batches.items())]
    tables = sorted((name, kept["version"]) for name, kept in manifest.tables.items())
    readers = [(name, sorted(each.readers)) for name, each in sorted(manifest.buffers.items())]
    return [names, units, rules, tables, readers, manifest.unbundled, manifest.control]


def _slowest(topology: Topology, key: str, number: int) -> int:
    """Return the train behind which a source has to be read again."""
    buffer = topology.buffers.get(key)
    readers: dict[str, int] = buffer.readers() if buffer is not None else {}
    # After a restart a reader may be ahead of the source reader, whose trains are still to be read
    # again.
    return min([number, *readers.values()])


def _buffer(buffer: Buffer, directory: Path, source: SourceRecord | None) -> BufferRecord:
    """Return a buffer's place; a source's is where its source reader starts again."""
    if source is not None:
        place = (source.number, source.watermark, source.high, source.idle)
        return BufferRecord(*place, buffer.readers(), ())
    trains = (
        TrainRecord(train.info, _save(train.rows, directory) if train.rows.count else "")
        for train in buffer.unread()
    )
    place = (buffer.written, buffer.watermark, buffer.high, buffer.idle)
    return BufferRecord(*place, buffer.readers(), tuple(trains))


def _unit(live: LiveUnit, directory: Path) -> UnitRecord:
    return UnitRecord(
        runs=live.runs,
        taken=live.state.taken if isinstance(live.state, TakeState) else 0,
        time_is_up=live.time_is_up,
        ended=live.ended,
        marks=dict(live.reading.marks),
        idle=tuple(sorted(live.reading.idle)),
        reached=live.reading.reached,
        rows_in=live.rows_in,
        rows_out=live.rows_out,
        late_rows=dict(live.late_rows),
        rows_before=dict(live.rows_before),
        members=live.unit.lots,
        history={
            leaf: tuple(PartRecord(_save(rows, directory), rows.count) for rows in parts)
            for leaf, parts in live.history.items()
        },
        state=_stored(live, directory),
    )


def _stored(live: LiveUnit, directory: Path) -> StateRecord | None:
    """Return what a stateful operator keeps; what a take has counted stands in the record above."""
    if live.state is None or live.unit.stateful is None:
        return None
    kept = live.state.kept()
    parts = (
        PartRecord(_save(part.rows, directory), part.rows.count, dict(part.facts))
        for part in kept.parts
    )
    return StateRecord(dict(kept.facts), tuple(parts))


def _query(query: LiveQuery) -> QueryRecord:
    return QueryRecord(
        query.input,
        query.definition.text,
        query.runs,
        query.delivered,
        query.rows_settled,
        query.deadline,
        query.missed_rows,
    )


def _suspended(query: LiveQuery) -> SuspendedRecord:
    away = None if query.away is None else (query.away.since, dict(query.away.rows))
    return SuspendedRecord(away, query.missed_rows, query.deadline)


def _trigger_batches(each: LiveTriggers) -> TriggerRecord:
    rules = {rule.key: rule.since for rule in each.rules.values()}
    return TriggerRecord(each.input, each.runs, rules)


def _save(rows: Rows, directory: Path) -> str:
    """Make sure that the rows are in files of the state directory; from now on they are its."""
    if rows.paths and all(path.parent == directory for path in rows.paths):
        return BETWEEN.join(path.name for path in rows.paths)
    if rows.table is not None:
        paths = [write_parquet(rows.table, directory)]
    else:
        names = [f"{uuid.uuid4().hex}.parquet" for _ in rows.paths]
        paths = [
            link_or_copy(old, directory / new) for old, new in zip(rows.paths, names, strict=True)
        ]
    if rows.owned:
        for old in rows.paths:
            old.unlink(missing_ok=True)
    rows.paths, rows.owned = tuple(paths), False
    return BETWEEN.join(path.name for path in paths)


def _remove_others(directory: Path, wanted: set[str]) -> None:
    for path in directory.iterdir():
        if path.name not in wanted:
            path.unlink(missing_ok=True)
