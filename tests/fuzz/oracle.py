"""The other side: every query as a Spark batch over all rows at once."""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.e2e.oracle.queries import Query
from tests.fuzz.case import Case, Relation
from tests.fuzz.windows import ARRIVAL

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}


class Unanswered(Exception):  # noqa: N818  (an answer of the batch, not an error of ours)
    """Spark refuses the batch form, or fails on its rows."""


def answers(spark: SparkSession, case: Case) -> dict[str, pa.Table | Unanswered]:
    """Return what each query should give."""
    session = spark.newSession()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    for relation in (*case.streams, case.table):
        _see(session, relation)
    return dict(_asked(session, case))


def _see(session: SparkSession, relation: Relation) -> None:
    table, ddl = relation.table(), relation.ddl()
    _view(session.createDataFrame(table.combine_chunks(), ddl), relation.exact)
    if relation.time:
        numbers = pa.array(range(table.num_rows), pa.int64())
        numbered = table.append_column(ARRIVAL, numbers).combine_chunks()
        seen = session.createDataFrame(numbered, f"{ddl}, {ARRIVAL} BIGINT")
        _view(seen, f"{relation.exact[:-1]}__n`")


def _view(frame: DataFrame, name: str) -> None:
    frame.createOrReplaceTempView(name)


def _asked(session: SparkSession, case: Case) -> Iterator[tuple[str, pa.Table | Unanswered]]:
    for query in case.queries:
        try:
            yield query.name, _answer(session, query)
        except PySparkException as error:
            yield query.name, Unanswered(str(error).partition("\n")[0])


def _answer(session: SparkSession, query: Query) -> pa.Table:
    frame = session.sql(query.batch)
    table = frame.toArrow()
    again = session.createDataFrame(table.combine_chunks(), frame.schema)
    _view(again, "`" + query.name.replace("`", "``") + "`")
    return table
