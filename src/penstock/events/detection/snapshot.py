"""A detector's state as tables, for checkpoints and to move keys from one detector to another."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.events.detection.detector_state import DetectorState, Spaces, compact, shifted
from penstock.events.detection.graph import EventGraph
from penstock.events.occurrences.bags import Bags
from penstock.events.occurrences.batch import Batch, Ints, in_order, joined
from penstock.events.occurrences.event_input import Inlet, WaitingOccurrences
from penstock.events.occurrences.keys import KeySpace
from penstock.events.operators.operator import Slots

NUMBERS = ("start", "end", "seq", "mark")
KEY = "key"  # columns that hold the values of keys begin so, those of references as REF
REF = "ref"
ROW = "row"


@dataclass(frozen=True, slots=True)
class KeptEvents:
    """A detector's state: facts that JSON can hold, and tables by name."""

    facts: Mapping[str, Any]
    tables: Mapping[str, pa.Table]


def kept_of(
    whole: DetectorState, graph: EventGraph, spaces: Spaces, inlets: Mapping[str, Inlet]
) -> KeptEvents:
    """Return the state with the values of keys instead of their numbers."""
    whole = compact(whole, graph)
    tables: dict[str, pa.Table] = {}
    for name, held in whole.held.items():
        for part, batch in enumerate(held.parts):
            tables[f"held {part} {name}"] = _table(batch, _key_columns(spaces[name], batch.key))
    for name, waiting in whole.waiting.items():
        tables[f"waiting {name}"] = _table(
            replace(waiting.batch, refs=waiting.batch.refs[:, :1]), {}
        )
        tables[f"rows {name}"] = waiting.rows.rows.append_column(ROW, pa.array(waiting.rows.ids))
    contents = pa.LargeListArray.from_arrays(
        pa.array(whole.bags.offsets), pa.array(whole.bags.values)
    )
    tables["bags"] = pa.table({ROW: pa.array(whole.bags.ids), REF: contents})
    facts = {
        "watermark": whole.watermark,
        "until": whole.until,
        "latest": whole.latest,
        "next_id": whole.next_id,
        "dropped": {name: held.dropped for name, held in whole.held.items()},
        "keyings": {name: [*map(list, inlet.keyings)] for name, inlet in inlets.items()},
    }
    return KeptEvents(facts, tables)


def restored(
    whole: DetectorState,
    kept: Sequence[KeptEvents],
    graph: EventGraph,
    inlets: Mapping[str, Inlet],
    spaces: Spaces,
) -> DetectorState:
    """Return a state with what was kept in it, as far as the graph still has a place for it."""
    for each in kept:
        whole = _joined(whole, each, graph, inlets, spaces)
    return compact(whole, graph) if kept else whole


def split(
    kept: KeptEvents, count: int, choose: Callable[[list[pa.ChunkedArray]], Ints]
) -> list[KeptEvents]:
    """Return a state as several, by key; `choose` gives each key's part, from its columns.

    What has no key goes to the first part.
    """
    parts: list[dict[str, pa.Table]] = [{} for _ in range(count)]
    for name, table in kept.tables.items():
        kind, _, rest = name.partition(" ")
        if kind in {"rows", "bags"}:
            for part in parts:  # what is not referred to there goes when it is restored
                part[name] = table
            continue
        keys = [table[column] for column in table.column_names if column.startswith(KEY)]
        if kind == "waiting":
            keys = _waiting_keys(table, kept, rest)
        chosen = choose(keys) if keys else np.zeros(table.num_rows, np.int64)
        for number, part in enumerate(parts):
            part[name] = table.filter(pa.array(chosen == number))
    none = {**kept.facts, "dropped": {}}
    return [
        KeptEvents(kept.facts if number == 0 else none, part) for number, part in enumerate(parts)
    ]


def _waiting_keys(table: pa.Table, kept: KeptEvents, name: str) -> list[pa.ChunkedArray]:
    keyed = [names for names in kept.facts["keyings"][name] if names]
    rows = kept.tables[f"rows {name}"]
    at = np.searchsorted(rows[ROW].to_numpy(), table[f"{REF}0"].to_numpy())
    found = rows.take(pa.array(at))
    return [found[column] for column in keyed[0]] if keyed else []


def _table(batch: Batch, keys: Mapping[str, pa.Array]) -> pa.Table:
    columns = {name: pa.array(getattr(batch, name)) for name in NUMBERS}
    for place in range(batch.refs.shape[1]):
        columns[f"{REF}{place}"] = pa.array(batch.refs[:, place])
    return pa.table({**columns, **keys})


def _key_columns(space: KeySpace | None, keys: Ints) -> dict[str, pa.Array]:
    if space is None:
        return {}
    return {f"{KEY}{at}": column for at, column in enumerate(space.values(keys))}


def _batch(table: pa.Table, places: int, space: KeySpace | None) -> Batch:
    start, end, seq, mark = (_numbers(table, name) for name in NUMBERS)
    refs = np.empty((table.num_rows, places), np.int64)
    for place in range(places):
        refs[:, place] = _numbers(table, f"{REF}{place}")
    key = np.zeros(table.num_rows, np.int64)
    if space is not None:
        key = space.numbers([table[f"{KEY}{at}"] for at in range(len(space.types))])
    return Batch(key, start, end, seq, refs, mark)


def _numbers(table: pa.Table, name: str) -> Ints:
    return np.array(table[name].to_numpy(), np.int64)


def _joined(
    whole: DetectorState,
    kept: KeptEvents,
    graph: EventGraph,
    inlets: Mapping[str, Inlet],
    spaces: Spaces,
) -> DetectorState:
    rows, bags, facts = whole.next_id, whole.bags.next_id, kept.facts
    held = dict(whole.held)
    ticks = [np.empty(0, np.int64)]
    for name, each in held.items():
        parts = []
        for at, (part, batch) in enumerate(zip(graph.nodes[name].parts, each.parts, strict=False)):
            table = kept.tables.get(f"held {at} {name}")
            slots = graph.nodes[part].slots
            if table is None:
                parts.append(batch)
                continue
            old = _batch(table, batch.refs.shape[1], spaces[name])
            ticks += _tick_bags(old, slots)
            parts.append(in_order(joined([batch, shifted(old, slots, rows, bags)])))
        dropped = each.dropped + facts["dropped"].get(name, 0)
        held[name] = replace(each, parts=tuple(parts), dropped=dropped)
    return DetectorState(
        max(whole.watermark, facts["watermark"]),
        max(whole.until, facts["until"]),
        max(whole.latest, facts["latest"]),
        whole.next_id + facts["next_id"],
        _waiting(whole, kept, inlets),
        held,
        whole.bags.with_bags(_bags(kept, np.concatenate(ticks), rows, bags)),
    )


def _tick_bags(batch: Batch, slots: Slots) -> list[Ints]:
    return [
        batch.refs[:, place]
        for place, slot in enumerate(slots[: batch.refs.shape[1]])
        if slot.plural and not slot.source
    ]


def _bags(kept: KeptEvents, ticks: Ints, rows: int, bags: int) -> Bags:
    table = kept.tables["bags"].combine_chunks()
    ids = _numbers(table, ROW)
    contents = table[REF].combine_chunks()
    if isinstance(contents, pa.ChunkedArray):
        contents = pa.concat_arrays(contents.chunks) if contents.num_chunks else contents.chunk(0)
    sizes = np.array([0, *contents.value_lengths().to_pylist()], np.int64)
    offsets = np.cumsum(sizes)
    values = np.array(contents.flatten().to_numpy(zero_copy_only=False), np.int64)
    shift = np.repeat(np.where(np.isin(ids, ticks), 0, rows), sizes[1:])
    return Bags(ids + bags, offsets, values + shift)


def _waiting(
    whole: DetectorState, kept: KeptEvents, inlets: Mapping[str, Inlet]
) -> dict[str, WaitingOccurrences]:
    found = dict(whole.waiting)
    for name, inlet in inlets.items():
        table, rows = (kept.tables.get(f"{kind} {name}") for kind in ("waiting", "rows"))
        if table is None or rows is None:
            continue
        ids = _numbers(rows, ROW) + whole.next_id
        every = found[name].rows.with_rows(ids, rows.select(inlet.parameters.names))
        old = _batch(table, 1, None)
        mine = old.refs[:, 0] + whole.next_id
        keys = inlet.keys(every.take(mine))
        batch = replace(old, refs=np.stack([mine, *keys], axis=1))
        found[name] = WaitingOccurrences(joined([found[name].batch, batch]), every)
    return found
