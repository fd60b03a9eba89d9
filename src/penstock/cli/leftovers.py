"""What a run left aside: rejected and late rows are counted, kept and told of."""

from penstock.model.schema import quoted
from penstock.runtime.show import show
from penstock.runtime.system import System


def leftovers(system: System) -> list[str]:
    """Return a sentence for each stream with rejected rows and each query with late ones."""
    return [
        *(
            f"stream {row['stream']}: {row['rejected']:,} rows did not fit its columns; "
            f"SELECT * FROM {quoted(row['stream'])}.rejects shows them"
            for row in show(system, "STREAMS").to_pylist()
            if row["rejected"]
        ),
        *(
            f"query {row['query']}: {row['late_rows']:,} rows came too late for its windows; "
            f"SELECT * FROM {quoted(row['query'])}.late shows them"
            for row in show(system, "QUERIES").to_pylist()
            if row["late_rows"]
        ),
    ]
