"""Jobs over rows in partitions: rows are sent to theirs once, and stay there from then on.

A job over partitions is a union of one branch for each of them, which one task does from reading to
writing. So nothing is exchanged, and no more than a partition's rows are in a task's memory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody writes it)

from penstock.engine.spark.jobs.processor import Leaf, Made, Processor
from penstock.engine.spark.jobs.train_writer import RowOrder
from penstock.engine.trains.partition_files import PartitionFiles, partition_files
from penstock.engine.trains.rows import Rows
from penstock.engine.trains.sort_order import sorted_rows
from penstock.engine.trains.train_files import Outlook
from penstock.model.schema import Schema, quoted

FEWEST, MOST = 8, 64  # a branch takes some 15 ms to plan
Views = Mapping[str, str]  # what a branch reads: names that a SELECT has for its views
Branch = Mapping[str, Sequence[Rows]]  # the rows of a partition, by such names


def partitions_for(slots: int) -> int:
    """Return how many partitions a state has that tasks write: two for each task, within bounds."""
    return min(MOST, max(FEWEST, 2 * slots))


@dataclass(frozen=True, slots=True)
class PartitionJobs:
    """Jobs of one run; `view` names what they read, and `column` bounds what is read again."""

    processor: Processor
    view: Callable[[str], str]
    column: str

    def scattered(
        self, leaves: Mapping[str, Leaf], sql: str, keys: Sequence[str], count: int, name: str
    ) -> PartitionFiles | None:
        """Write the rows of a SELECT, each in that one of `count` partitions that its keys name."""
        columns = [F.col(quoted(each)) for each in keys]
        rows_in = sum(each.count for rows, _ in leaves.values() for each in rows)
        return self._written(
            leaves,
            lambda session: session.sql(sql).repartition(count, *columns),
            name,
            range(count),
            single=self.processor.fits_tasks(rows_in),
        )

    def in_place(
        self, branches: Mapping[int, Branch], sql_of: Callable[[Views], str], name: str
    ) -> PartitionFiles | None:
        """Write what a SELECT makes of each partition, in the same partition."""
        leaves, sql = self._union(branches, sql_of)
        return self._written(
            leaves, lambda session: session.sql(sql), name, list(branches), single=True
        )

    def gathered(
        self,
        branches: Mapping[int, Branch],
        sql_of: Callable[[Views], str],
        above: Callable[[str], str],
        schema: Schema,
        outlook: Outlook,
        order: RowOrder | None,
    ) -> Made:
        """Have tasks write what is made of all partitions' rows together, as trains are written.

        `above` is the SELECT over what `sql_of` makes of each partition.
        """
        leaves, sql = self._union(branches, sql_of)
        made = self.processor.written(
            leaves, above(f"({sql})"), schema, outlook, order, single=True
        )
        if isinstance(made, Rows) or order is None:
            return made
        return sorted_rows(made, order.columns)

    def _union(
        self, branches: Mapping[int, Branch], sql_of: Callable[[Views], str]
    ) -> tuple[dict[str, Leaf], str]:
        leaves: dict[str, Leaf] = {}
        selects: list[str] = []
        for number, branch in branches.items():
            views = {what: self.view(f"{what}{number}") for what in branch}
            leaves |= {views[what]: (rows, None) for what, rows in branch.items()}
            selects.append(f"({sql_of(views)})")
        return leaves, " UNION ALL ".join(selects)

    def _written(
        self,
        leaves: Mapping[str, Leaf],
        frame_of: Callable[[SparkSession], DataFrame],
        name: str,
        numbers: Sequence[int],
        *,
        single: bool,
    ) -> PartitionFiles | None:
        """Write one file for each task; what is read again by the column lies in its order."""

        def write(session: SparkSession, job: Path) -> None:
            frame_of(session).sortWithinPartitions(self.column).write.parquet(str(job))

        def taken(session: SparkSession) -> PartitionFiles | None:
            return self.processor.in_time(
                lambda: partition_files(
                    lambda job: write(session, job),
                    self.processor.spill,
                    name,
                    numbers,
                    self.column,
                )
            )

        return self.processor.over_views(leaves, taken, single=single)
