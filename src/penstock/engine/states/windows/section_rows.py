"""What is done to a bundle's rows without Spark: whose they are, and how they are told apart."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.states.parts import Part
from penstock.engine.states.windows.kept_partials import KeptPartials, table_of
from penstock.engine.trains.rows import in_memory
from penstock.plan.operators.bundles.member import Member, MemberPredicate
from penstock.plan.operators.gate import ALL, KEPT
from penstock.plan.operators.windows.window_aggregate import PANE
from penstock.plan.sharing.layout import Layout, aggregate_name
from penstock.plan.sharing.predicate_index import (
    BITS_A_COLUMN,
    PredicateIndex,
    bucket,
    predicate_bits,
)
from penstock.plan.sharing.unthinned import Unthinned


def asked_for(
    table: pa.Table, predicate_index: PredicateIndex, asked: MemberPredicate
) -> np.ndarray:
    """Say of each row whether it is among what is asked for."""
    mask = np.ones(table.num_rows, dtype=bool)
    for place, spans in enumerate(predicate_index.numbers(asked)):
        numbers = table[bucket(place)].to_numpy()
        hits = [(numbers >= low) & (numbers <= high) for low, high in spans]
        mask &= np.logical_or.reduce(hits) if hits else False
    for place, need in enumerate(predicate_index.needs(asked)):
        mask &= (table[predicate_bits(place)].to_numpy() & need) == need
    return mask


def lifted_partials(
    kept: KeptPartials, old: PredicateIndex, new: PredicateIndex, schema: pa.Schema
) -> KeptPartials:
    """Return all parts as partials of a new schema; what a member brought is told apart by none."""
    plain = pa.schema([field for field in schema if field.name not in new.names])

    def owned(part: Part) -> Part:
        return replace(part, rows=in_memory(fit_to(table_of(part.rows), plain)))

    def shared(part: Part) -> Part:
        return replace(part, rows=in_memory(lifted(table_of(part.rows), old, new, schema)))

    theirs = {name: list(map(owned, parts)) for name, parts in kept.owned.items()}
    return KeptPartials(list(map(shared, kept.parts)), theirs, [*kept.gone, *kept.all])


def lifted(
    table: pa.Table, old: PredicateIndex, new: PredicateIndex, schema: pa.Schema
) -> pa.Table:
    """Return partials told apart the `new` way, in its schema.

    Whoever asked in the old way and still asks finds the same rows. Aggregates that were not kept
    are empty: those who want them answer for later windows only.
    """
    columns = {name: table[name] for name in table.column_names}
    for place, (was, now) in enumerate(zip(old.buckets, new.buckets, strict=True)):
        moved = np.array(was.moved_to(now), dtype=np.int32)
        columns[bucket(place)] = pa.array(moved[table[bucket(place)].to_numpy()])
    if old.predicates or new.predicates:
        columns |= _moved_bits(table, old.predicates, new.predicates)
    return fit_to(pa.table(columns), schema)


def fit_to(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the table in a schema; columns that it does not have are empty."""
    arrays = [
        table[field.name].cast(field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(arrays, schema=pa.schema([field.with_nullable(True) for field in schema]))


def _moved_bits(table: pa.Table, old: Sequence[str], new: Sequence[str]) -> dict[str, pa.Array]:
    """Return the packed predicate bits in their new places; one that is new does not hold."""
    places = range(-(-len(new) // BITS_A_COLUMN))
    packed = [np.zeros(table.num_rows, dtype=np.int64) for _ in places]
    for number, text in enumerate(old):
        if text in new:
            column, bit = divmod(number, BITS_A_COLUMN)
            holds = (table[predicate_bits(column)].to_numpy() >> bit) & 1
            column, bit = divmod(new.index(text), BITS_A_COLUMN)
            packed[column] |= holds << bit
    return {predicate_bits(place): pa.array(packed[place]) for place in places}


def with_shares(table: pa.Table, layout: Layout, made: Unthinned) -> pa.Table:
    """Return partials of tuples of which none was dropped as if a gate had been asked."""
    many, columns = table.num_rows, dict[str, pa.Array | pa.ChunkedArray]()
    for name in layout.columns:
        if name in table.column_names:
            columns[name] = table[name]
        elif name == KEPT:
            columns[name] = pa.array(np.full(many, ALL, dtype=np.int32))
        elif name in made.zeros:
            columns[name] = pa.array(np.zeros(many))
        else:
            columns[name] = pc.cast(pc.is_valid(table[made.seen[name]]), pa.int64())
    return pa.table(columns)


def as_alone(table: pa.Table, member: Member) -> pa.Table:
    """Return partials of a member's tuples as it would keep them alone."""
    names = {name: name for name, _ in member.aggregate.keys} | {PANE: PANE}
    names |= {theirs: mine for mine, theirs in _named(member).items()}
    panes = table[PANE].to_numpy()
    coarser = pa.chunked_array([panes - panes % member.aggregate.assigner.pane])
    columns = [coarser if name == PANE else table[name] for name in names]
    return pa.table(columns, names=list(names.values()))


def as_bundled(table: pa.Table, member: Member) -> pa.Table:
    """Return partials that a member kept alone, named as bundles name them."""
    names = _named(member)
    return table.rename_columns([names.get(name, name) for name in table.column_names])


def _named(member: Member) -> dict[str, str]:
    """Return the bundle's name of each partial column of a member."""
    return {
        f"{name}_{place}": f"{aggregate_name(each)}_{place}"
        for name, each in member.aggregate.aggregates
        for place in range(len(each.partials))
    }
