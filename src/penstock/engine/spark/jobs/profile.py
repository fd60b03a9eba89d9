"""Profiles: how many tuples come out at each operator of a unit, and what that takes.

The unit's plan up to each operator is run over a small sample, and nothing but a count and a hash
comes back: the hash needs every column, so that none is left out as nobody's.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.trains.rows import Rows, empty_table, fit, in_memory
from penstock.engine.trains.types import arrow_schema
from penstock.model.own_names import own
from penstock.model.schema import Schema, quoted
from penstock.plan.operators import Operator, key
from penstock.plan.sharing.units import Unit
from penstock.schedule.costs.apportion import Border, UnitProfile

TIMES = 2  # the first is slower: Spark compiles what it has not seen
UNHASHED = ("map<", "variant")  # types of which Spark makes no hash, but text

Sample = Mapping[str, pa.Table]  # some tuples of a unit's leaves, by their keys


def sample_of(unit: Unit, rows: Mapping[str, Sequence[Rows]], most: int) -> Sample:
    """Return copies of the first tuples of each leaf; large trains are not read for it."""
    share = max(1, most // max(1, len(unit.leaves)))
    return {
        name: _first(rows.get(name, ()), leaf.schema, share)
        for name, leaf in zip(unit.inputs, unit.leaves, strict=True)
    }


def profile(
    processor: Processor,
    unit: Unit,
    sample: Sample,
    timer: Callable[[], float] = time.perf_counter,
) -> UnitProfile:
    """Run the plan up to each operator below the stateful one, or to all without one."""
    views = {name: own(f"profile_{unit.key}_{n}") for n, name in enumerate(unit.inputs)}
    leaves = {
        views[name]: ([in_memory(sample[name])], leaf.schema)
        for name, leaf in zip(unit.inputs, unit.leaves, strict=True)
    }
    best: dict[str, Border] = {}
    for _ in range(TIMES):
        for node in (*unit.leaves, *_below(unit)):
            sql = _counting(Unit(node, unit.leaves).rows_sql(views), node.schema)
            began = timer()
            table = processor.select(leaves, sql, None, single=True)
            seconds = timer() - began
            before = best.get(key(node))
            least = seconds if before is None else min(seconds, before.seconds)
            best[key(node)] = Border(table["n"][0].as_py(), least)
    inputs = {key(each): tuple(key(below) for below in each.inputs) for each in unit.members()}
    return UnitProfile(inputs, best, unit.key)


def _below(unit: Unit) -> list[Operator]:
    """Return the operators that can be run by themselves, inputs first."""
    found: list[Operator] = []
    for node in unit.members():
        if node is unit.stateful:
            break
        found.append(node)
    return found


def _counting(sql: str, schema: Schema) -> str:
    columns = [
        f"cast({quoted(each.name)} AS string)"
        if any(kind in each.type for kind in UNHASHED)
        else quoted(each.name)
        for each in schema
    ]
    return f"SELECT count(*) AS n, bit_xor(xxhash64({', '.join(columns)})) AS h FROM ({sql})"


def _first(rows: Sequence[Rows], schema: Schema, most: int) -> pa.Table:
    tables: list[pa.Table] = [empty_table(schema)]
    for each in rows:
        if most <= 0:
            break
        if each.table is not None:
            tables.append(fit(each.table.slice(0, most), arrow_schema(schema)))
        elif each.paths:
            with pq.ParquetFile(each.paths[0]) as file:
                batches = list(islice(file.iter_batches(batch_size=most), 1))
            tables += [fit(pa.Table.from_batches([one]), arrow_schema(schema)) for one in batches]
        most -= tables[-1].num_rows
    return pa.concat_tables(tables)
