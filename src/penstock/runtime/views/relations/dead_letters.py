"""`system.dead_letters`: rows that were left aside, how many of them are kept, and where."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow.parquet as pq

from penstock.model.schema import quoted
from penstock.plan.operators import Operator, key
from penstock.plan.operators.lateness import flows_in, judges
from penstock.runtime.durable.pending_actions import PendingActions
from penstock.runtime.names.directory import Directory
from penstock.runtime.topology.topology import Topology
from penstock.runtime.views.view import Row, View, columns

Kept = Callable[[str], Path]  # the directory where an operator's rows are kept, by its key


def dead_letter_rows(
    directory: Directory, topology: Topology, pending_actions: PendingActions
) -> Iterator[Row]:
    """Yield a row for every stream, query and rule that left rows of a kind aside."""
    for kind, name, part, rows in _counts(directory, topology, pending_actions):
        if rows:
            yield {"kind": kind, "name": name, "rows": rows, "relation": f"{quoted(name)}.{part}"}


def _counts(
    directory: Directory, topology: Topology, pending_actions: PendingActions
) -> Iterator[tuple[str, str, str, int]]:
    for stream in directory.streams():
        if (source_reader := topology.source_readers.get(key(stream.scan))) is not None:
            yield "rejected", stream.definition.name, "rejects", source_reader.rejected
    for query in directory.queries():
        name, kept = query.definition.name, topology.late_directory
        yield "late", name, "late", _kept_rows(judges(query.root, query.foreign), kept)
        yield "held", name, "held", _kept_rows(flows_in(query.root), kept)
    for trigger_batches in list(topology.trigger_batches.values()):
        for rule in list(trigger_batches.rules.values()):
            yield "dead", rule.name, "dead", pending_actions.figures(rule.key).dead


def _kept_rows(operators: Iterable[Operator], kept: Kept) -> int:
    """Return how many rows are kept in files for these operators."""
    paths = [path for each in operators for path in kept(key(each)).glob("*.parquet")]
    return sum(map(_count, paths))


def _count(path: Path) -> int:
    try:
        return int(pq.read_metadata(path).num_rows)
    except FileNotFoundError:  # its query was dropped meanwhile
        return 0


DEAD_LETTERS = View(
    "dead_letters",
    "rows that were late, did not fit, or could not be worked on, and the relation that has them",
    columns("kind STRING, name STRING, rows BIGINT, relation STRING"),
    lambda of: dead_letter_rows(of.directory, of.topology, of.pending_actions),
)
