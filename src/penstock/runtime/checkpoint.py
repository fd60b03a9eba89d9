"""Checkpoints: the plant's state as Parquet files and one manifest; recovery is the way back.

A checkpoint is written at rest. Source trains that somebody must still read are not in it: they
are read again from the source by their recorded boundaries. Trains between operators, and the
partials of aggregates, are files in the state directory, written once and named in the manifest
with their checksums. They are on disk before the journal has the manifest.

The checkpoint before the last one stays, with all that a replay from it needs, unless the graph has
changed in between: recovery goes back to it where the last one is damaged (0029).
"""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from penstock.engine.buffers import Buffer, Train
from penstock.engine.interfaces.push import Push
from penstock.engine.rows import (
    SMALL_ROWS,
    Rows,
    empty_table,
    in_memory,
    link_or_copy,
    write_parquet,
)
from penstock.engine.states import Kept, KeptPart, State, Together, restored
from penstock.errors import HomeError, StateUnmatchedError
from penstock.model.definitions import QueryDefinition
from penstock.model.trains import TrainInfo
from penstock.plan.bundles.bundling import Standing
from penstock.plan.operators import Operator, key
from penstock.plan.units import Unit
from penstock.runtime.journal import Checkpoint, Journal
from penstock.runtime.live_query import Away, LiveQuery
from penstock.runtime.live_rule import LiveOccasions
from penstock.runtime.live_unit import LiveUnit
from penstock.runtime.plant import Plant
from penstock.runtime.state_files import damaged, put_on_disk

Manifest = Mapping[str, Any]


def write_checkpoint(
    plant: Plant, journal: Journal, directory: Path, decided: Mapping[str, Any] | None = None
) -> None:
    """Write the plant down, then remove what neither this checkpoint nor the last one needs.

    `decided` is what deciders keep, under names of their own.
    """
    for feed in plant.feeds.values():
        if isinstance(feed.interface, Push):
            feed.interface.to_disk()  # what a checkpoint has read must not be lost behind it
    slowest = {feed.key: _slowest(plant, feed.key, feed.number) for feed in plant.feeds.values()}
    feeds = {feed.key: feed.snapshot(slowest[feed.key]) for feed in plant.feeds.values()}
    runs = {live.reader: live.runs for live in plant.units.values()}
    runs |= {query.reader: query.runs for query in plant.queries.values()}
    runs |= {each.reader: each.runs for each in plant.occasions.values()}
    manifest = {
        "feeds": feeds,
        "buffers": {
            buffer.key: _buffer(buffer, directory, feeds.get(buffer.key))
            for buffer in plant.buffers
        },
        "units": {live.unit.key: _unit(live, directory) for live in plant.units.values()},
        "queries": {query.name.lower(): _query(query) for query in plant.queries.values()},
        "suspended": {query.name.lower(): _away(query) for query in plant.suspended.values()},
        "finished": {query.name.lower(): _figures(query) for query in plant.finished.values()},
        "tables": plant.tables.kept() if plant.tables is not None else {},
        "occasions": {each.reader: _occasions(each) for each in plant.occasions.values()},
        "apart": sorted(plant.apart),
        "ends": {"trains": slowest, "runs": runs},
        **(decided or {}),
    }
    last = plant.checkpoint
    known = last.manifest.get("files", {}) if last is not None else {}
    for archive in plant.archives.values():
        archive.to_disk()
    manifest["files"] = put_on_disk(directory, set(_files(manifest)), known)
    older = last if last is not None and _can_go_back(plant, last.manifest, manifest) else None
    plant.checkpoint = _record(plant, journal, manifest, older)
    _let_go(plant, directory, manifest, older)


def _record(
    plant: Plant, journal: Journal, manifest: dict[str, Any], older: Checkpoint | None
) -> Checkpoint:
    """Let the journal have the checkpoint, and forget what neither it nor the older one needs."""
    ends = (older.manifest if older is not None else manifest)["ends"]
    with journal.together():
        for reader in plant.gone:
            journal.forget_unit(reader)
        for stream in plant.gone_streams:
            journal.forget_stream(stream)
        for live in plant.units.values():
            if not live.replay:  # a run that failed before its unit was cut anew is void
                journal.take_back_runs(live.reader, live.runs)
        keep = older.number if older is not None else None
        number = journal.write_checkpoint(manifest, **ends, keep=keep)
    plant.gone.clear()
    plant.gone_streams.clear()
    return Checkpoint(number, manifest)


def _let_go(plant: Plant, directory: Path, manifest: Manifest, older: Checkpoint | None) -> None:
    """Remove what neither checkpoint needs: files, versions of tables, what sources keep."""
    oldest = older.manifest if older is not None else manifest
    if plant.tables is not None:
        plant.tables.tidy()
    for name, archive in plant.archives.items():
        archive.safe = oldest["ends"]["trains"].get(name, 0)
    for feed in plant.feeds.values():
        boundary = oldest["feeds"][feed.key]["boundary"]
        if boundary is not None:
            feed.interface.commit(boundary)
    _remove_others(directory, {*_files(manifest), *_files(oldest)})


def _can_go_back(plant: Plant, old: Manifest, new: Manifest) -> bool:
    """Say whether recovery may start from the older checkpoint: no replay crosses a change."""
    return (
        "ends" in old and not plant.gone and not plant.gone_streams and _graph(old) == _graph(new)
    )


def _graph(manifest: Manifest) -> list[Any]:
    """Return what must not have changed between a checkpoint and what is done again after it."""
    names = [sorted(manifest[part]) for part in ("feeds", "units", "queries", "suspended")]
    control = manifest.get("control")
    units = [(name, kept.get("members")) for name, kept in sorted(manifest["units"].items())]
    rules = [(name, sorted(kept["rules"])) for name, kept in sorted(manifest["occasions"].items())]
    tables = sorted((name, kept["version"]) for name, kept in manifest["tables"].items())
    readers = [
        (name, sorted(each["readers"])) for name, each in sorted(manifest["buffers"].items())
    ]
    return [names, units, rules, tables, readers, manifest["apart"], control]


def checked(journal: Journal, number: int, directory: Path) -> tuple[Checkpoint | None, list[str]]:
    """Return a checkpoint that can be read, and what is damaged of it."""
    try:
        found = journal.checkpoint(number)
    except HomeError as error:
        return None, [f"checkpoint {number}: {error.message}"]
    return found, [str(path) for path in damaged(directory, found.manifest.get("files", {}))]


def knows(manifest: Manifest, name: str, root: Operator) -> bool:
    """Say whether the checkpoint has the query as it is defined now.

    A death between a definition and its checkpoint leaves one that it does not have.
    """
    return bool(manifest["queries"].get(name.lower(), {}).get("root") == key(root))


def refuse_unmatched(manifest: Manifest, definition: QueryDefinition, root: Operator) -> None:
    """Raise where the checkpoint has the query by the same words and with another plan.

    That a function that it calls was changed, or that another version binds it otherwise, is no
    reason to begin anew without a word.
    """
    kept = manifest["queries"].get(definition.name.lower(), {})
    if kept.get("text") == definition.text and kept["root"] != key(root):
        raise StateUnmatchedError(
            f"the state of query {definition.name} belongs to another plan than its definition "
            "gives now",
            hint="a function of it or Penstock has changed: RESUME QUERY begins it anew, from the "
            "next tuples on",
        )


def standing_in(manifest: Manifest) -> Standing:
    """Return who ran alone, and who together."""
    units = manifest["units"]
    bundles = {name: kept["members"] for name, kept in units.items() if kept.get("members")}
    alone = [name for name in units if name not in bundles]
    return Standing(alone, bundles, manifest.get("apart", ()))


def note_gone(plant: Plant, manifest: Manifest) -> None:
    """Note what the checkpoint had and is no more, so that the journal forgets it with the next."""
    plant.gone |= {f"unit:{name}" for name in manifest["units"] if name not in plant.units}
    plant.gone |= {f"query:{name}" for name in manifest["queries"] if name not in plant.queries}
    plant.gone |= manifest.get("occasions", {}).keys() - plant.occasions.keys()
    plant.gone_streams |= manifest["feeds"].keys() - plant.feeds.keys()


def restore_buffers(plant: Plant, manifest: Manifest, directory: Path) -> None:
    """Put back what buffers held and where their readers stood; feeds come before."""
    for buffer in plant.buffers:
        kept = manifest["buffers"].get(buffer.key)
        if kept is None:
            continue
        for reader in buffer.readers():
            # A query that was defined and not yet in a checkpoint begins where that stood.
            buffer.advance(reader, kept["readers"].get(reader, kept["written"]))
        buffer.written, buffer.watermark = kept["written"], kept["watermark"]
        buffer.high = buffer.gone = kept["high"]
        buffer.idle = kept.get("idle", False)
        for each in kept["trains"]:
            count = each["info"]["rows"]
            empty = in_memory(empty_table(buffer.schema)) if not count else None
            rows = empty or _rows(directory / each["file"], count)
            buffer.written = each["info"]["number"] - 1
            buffer.append(Train(TrainInfo(**each["info"]), rows))


def restore_unit(live: LiveUnit, manifest: Manifest, journal: Journal, directory: Path) -> None:
    """Put a unit back where the checkpoint saw it, with the runs recorded since."""
    if (kept := manifest["units"].get(live.unit.key)) is not None:
        live.runs, live.taken, live.marks = kept["runs"], kept["taken"], kept["marks"]
        live.time_is_up, live.ended = kept["time_is_up"], kept["ended"]
        live.rows_in, live.rows_out = kept["rows_in"], kept["rows_out"]
        live.late_rows, live.rows_before = dict(kept["late_rows"]), dict(kept["rows_before"])
        live.idle, live.reached = set(kept.get("idle", ())), tuple(kept.get("reached", ()))
        live.history = {
            leaf: [_rows(directory / part["file"], part["rows"]) for part in parts]
            for leaf, parts in kept.get("history", {}).items()
        }
        live.state = _state(live.unit, kept["state"], directory)
    live.replay.extend(journal.runs_after(live.reader, live.runs))


def restore_query(query: LiveQuery, manifest: Manifest, journal: Journal) -> None:
    """Put a query back where the checkpoint saw it, with the runs recorded since."""
    if (kept := manifest["queries"].get(query.name.lower())) is not None:
        query.runs, query.delivered = kept["runs"], kept["delivered"]
        query.meter.rows, query.deadline = kept["rows"], kept["deadline"]
        query.missed_rows = kept.get("missed", 0)
    query.replay.extend(journal.runs_after(query.reader, query.runs))


def restore_suspended(query: LiveQuery, manifest: Manifest, now: Away) -> None:
    """Put back what a suspended query has missed; without a checkpoint of it, it misses from now.

    A death between its suspension and the checkpoint leaves one that is not in it.
    """
    kept = manifest.get("suspended", {}).get(query.name.lower(), {})
    query.missed_rows, query.deadline = kept.get("missed", 0), kept.get("deadline", query.deadline)
    query.away = Away(*kept["away"]) if kept.get("away") else now


def restore_occasions(each: LiveOccasions, manifest: Manifest, journal: Journal) -> None:
    """Put the reader of an event for rules back where the checkpoint saw it."""
    if (kept := manifest.get("occasions", {}).get(each.reader)) is not None:
        each.runs = kept["runs"]
    each.replay.extend(journal.runs_after(each.reader, each.runs))


def begun_at(manifest: Manifest, reader: str, rule: str) -> int | None:
    """Return the train of its event behind which a rule looks, None where that is not known."""
    kept = manifest.get("occasions", {}).get(reader, {"rules": {}})
    begun = kept["rules"].get(rule)
    return None if begun is None else int(begun)


def restore_finished(query: LiveQuery, manifest: Manifest) -> None:
    """Put back the figures of a query that has ended."""
    if (kept := manifest["finished"].get(query.name.lower())) is not None:
        query.rows_in, query.late_rows = kept["rows_in"], kept["late_rows"]


def _slowest(plant: Plant, key: str, number: int) -> int:
    """Return the train behind which a source has to be read again."""
    buffer = plant.buffers.get(key)
    readers: dict[str, int] = buffer.readers() if buffer is not None else {}
    # After a restart a reader may be ahead of the feed, whose trains are still to be read again.
    return min([number, *readers.values()])


def _buffer(buffer: Buffer, directory: Path, source: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a buffer's place; a source's is where its feed starts again."""
    trains = [] if source is not None else buffer.unread()
    return {
        "written": buffer.written if source is None else source["number"],
        "watermark": buffer.watermark if source is None else source["watermark"],
        "high": buffer.high if source is None else source["high"],
        "idle": buffer.idle if source is None else source["idle"],
        "readers": buffer.readers(),
        "trains": [
            {"info": asdict(t.info), "file": _save(t.rows, directory) if t.rows.count else ""}
            for t in trains
        ],
    }


def _unit(live: LiveUnit, directory: Path) -> dict[str, Any]:
    return {
        "runs": live.runs,
        "taken": live.taken,
        "time_is_up": live.time_is_up,
        "ended": live.ended,
        "marks": live.marks,
        "idle": sorted(live.idle),
        "reached": live.reached,
        "rows_in": live.rows_in,
        "rows_out": live.rows_out,
        "late_rows": live.late_rows,
        "rows_before": live.rows_before,
        "members": live.unit.lots,
        "history": {
            leaf: [{"file": _save(rows, directory), "rows": rows.count} for rows in parts]
            for leaf, parts in live.history.items()
        },
        "state": None if live.state is None else _state_of(live.state, directory),
    }


def _state_of(state: State | Together, directory: Path) -> dict[str, Any]:
    kept = state.kept()
    parts = [
        {
            "file": _save(part.rows, directory),
            "rows": part.rows.count,
            "facts": dict(part.facts),
        }
        for part in kept.parts
    ]
    return {"facts": dict(kept.facts), "parts": parts}


def _state(unit: Unit, kept: Mapping[str, Any] | None, directory: Path) -> State | Together | None:
    if kept is None or unit.stateful is None:
        return None
    parts = [
        KeptPart(_rows(directory / part["file"], part["rows"]), part["facts"])
        for part in kept["parts"]
    ]
    return restored(unit.stateful, Kept(kept["facts"], parts))


def _query(query: LiveQuery) -> dict[str, Any]:
    return {
        "root": query.input,
        "text": query.definition.text,
        "runs": query.runs,
        "delivered": query.delivered,
        "rows": query.meter.rows,
        "deadline": query.deadline,
        "missed": query.missed_rows,
    }


def _away(query: LiveQuery) -> dict[str, Any]:
    away = None if query.away is None else [query.away.since, dict(query.away.rows)]
    return {"away": away, "missed": query.missed_rows, "deadline": query.deadline}


def _occasions(each: LiveOccasions) -> dict[str, Any]:
    rules = {rule.key: rule.since for rule in each.rules.values()}
    return {"root": each.input, "runs": each.runs, "rules": rules}


def _figures(query: LiveQuery) -> dict[str, Any]:
    return {"rows_in": query.rows_in, "late_rows": query.late_rows}


def _save(rows: Rows, directory: Path) -> str:
    """Make sure that the rows are in a file of the state directory; from now on it is its."""
    if len(rows.paths) == 1 and rows.paths[0].parent == directory:
        return rows.paths[0].name
    if rows.table is not None:
        path = write_parquet(rows.table, directory)
    else:
        path = directory / f"{uuid.uuid4().hex}.parquet"
        link_or_copy(rows.paths[0], path)
    if rows.owned:
        for old in rows.paths:
            old.unlink(missing_ok=True)
    rows.paths, rows.owned = (path,), False
    return path.name


def _rows(path: Path, count: int) -> Rows:
    table = pq.ParquetFile(path).read() if count <= SMALL_ROWS else None
    return Rows(count, table, (path,), owned=False)


def _files(manifest: Manifest) -> Iterable[str]:
    for buffer in manifest["buffers"].values():
        yield from (train["file"] for train in buffer["trains"] if train["file"])
    for unit in manifest["units"].values():
        yield from (part["file"] for parts in unit["history"].values() for part in parts)
        yield from (part["file"] for part in (unit["state"] or {"parts": ()})["parts"])


def _remove_others(directory: Path, wanted: set[str]) -> None:
    for path in directory.iterdir():
        if path.name not in wanted:
            path.unlink(missing_ok=True)
