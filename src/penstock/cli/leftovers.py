"""What a run left aside: rejected and late rows are counted, kept and told of."""

from collections.abc import Iterator

from penstock.client import Connection
from penstock.model.schema import quoted


def leftovers(connection: Connection) -> list[str]:
    """Return a sentence for each stream with rejected rows and each query with late ones."""
    return [*_rejected(connection), *_late(connection)]


def _rejected(connection: Connection) -> Iterator[str]:
    for stream in connection.sql("SHOW STREAMS").rows():
        if stream["rejected"]:
            name = stream["stream"]
            yield (
                f"stream {name}: {stream['rejected']:,} rows did not fit its columns; "
                f"SELECT * FROM {quoted(name)}.rejects shows them"
            )
