"""What a run left aside: rows, items, dead letters; sources, queries and rules that failed."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.cli.live_line import counted
from penstock.engine.connectors.sources import max_rejects
from penstock.model.schema import quoted
from penstock.runtime.views.inspected import Inspected
from penstock.runtime.views.schema import show

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Leftover:
    """A sentence with the statement that shows more; `is_loss` where a run may not end with 0."""

    text: str
    is_loss: bool = False


def leftovers(of: Inspected) -> list[Leftover]:
    """Return what a run has to tell at its end."""
    source_readers = list(of.topology.source_readers.values())
    limits = {
        source_reader.definition.name: max_rejects(source_reader.definition.source)
        for source_reader in source_readers
    }
    streams, queries, rules, sites = (
        show(of, what).to_pylist() for what in ("STREAMS", "QUERIES", "RULES", "SITES")
    )
    return [
        *(_unread(row) for row in streams if row["state"] == "FAILED"),
        *(_rejected(row, limits.get(row["stream"], 0.0)) for row in streams if row["rejected"]),
        *(_late(row) for row in queries if row["late_rows"]),
        *(_suspended(row) for row in queries if row["state"] == "SUSPENDED"),
        *(_held(query, count) for query, count in _held_items(sites).items()),
        *(each for row in rules for each in _of_rule(row)),
    ]


def _unread(row: Row) -> Leftover:
    told = f"stream {row['stream']} could not be read to its end"
    return Leftover(f"{told}; SHOW STREAMS shows why", is_loss=True)


def _rejected(row: Row, limit: float) -> Leftover:
    stream, rejected = row["stream"], row["rejected"]
    share = rejected / (row["rows"] + rejected)
    told = f"stream {stream}: {counted(rejected, 'row', 'rows')} did not fit its columns"
    told += f", {_percent(share)} of all"
    if share > limit:
        told += f", more than its max_rejects of {_percent(limit)}"
    shown = f"SELECT * FROM {quoted(stream)}.rejects shows them"
    return Leftover(f"{told}; {shown}", is_loss=share > limit)


def _late(row: Row) -> Leftover:
    query = row["query"]
    told = f"query {query}: {counted(row['late_rows'], 'row', 'rows')} came too late"
    return Leftover(f"{told} for its windows; SELECT * FROM {quoted(query)}.late shows them")


def _suspended(row: Row) -> Leftover:
    return Leftover(f"query {row['query']} is suspended; SHOW QUERIES shows why")


def _held_items(sites: Sequence[Row]) -> Counter[str]:
    """Return how many items functions have failed on, of each query where there are any."""
    return +sum((Counter({row["query"]: row["held"] or 0}) for row in sites), Counter())


def _held(query: str, items: int) -> Leftover:
    told = f"query {query}: {counted(items, 'item', 'items')} could not be worked on"
    return Leftover(f"{told}; SELECT * FROM {quoted(query)}.held shows them")


def _of_rule(row: Row) -> Iterator[Leftover]:
    rule = row["rule"]
    if row["state"] == "FAILED":
        yield Leftover(f"rule {rule} failed and is held; SHOW RULES shows why", is_loss=True)
    if row["dead"]:
        told = f"rule {rule}: {counted(row['dead'], 'tuple', 'tuples')} could not be acted on"
        shown = f"SELECT * FROM {quoted(rule)}.dead shows them, RETRY RULE {quoted(rule)}"
        yield Leftover(f"{told}; {shown} tries again", is_loss=bool(row["failures"]))
    if row["lost"]:
        told = f"rule {rule}: {counted(row['lost'], 'tuple', 'tuples')} could not be acted on"
        yield Leftover(f"{told} and were too many to be kept; SHOW RULES counts them", is_loss=True)


def _percent(share: float) -> str:
    """Return a share in percent, with digits enough to tell few rows of a million from none."""
    return f"{share * 100:.6g} %"
