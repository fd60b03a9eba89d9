"""What a run left aside: rejected and late rows are counted, kept and told of."""

from penstock.cli.live_line import counted
from penstock.model.schema import quoted
from penstock.runtime.show import show
from penstock.runtime.system import System


def leftovers(system: System) -> list[str]:
    """Return a sentence for each stream with rejected rows and each query with late ones."""
    streams = show(system, "STREAMS").to_pylist()
    queries = show(system, "QUERIES").to_pylist()
    return [
        *(_rejected(row["stream"], row["rejected"]) for row in streams if row["rejected"]),
        *(_late(row["query"], row["late_rows"]) for row in queries if row["late_rows"]),
    ]


def _rejected(stream: str, rows: int) -> str:
    told = f"stream {stream}: {counted(rows, 'row', 'rows')} did not fit its columns"
    return f"{told}; SELECT * FROM {quoted(stream)}.rejects shows them"


def _late(query: str, rows: int) -> str:
    told = f"query {query}: {counted(rows, 'row', 'rows')} came too late for its windows"
    return f"{told}; SELECT * FROM {quoted(query)}.late shows them"
