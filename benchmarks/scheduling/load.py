"""The load: streams of wide tuples, and queries that throw most away and do much with the rest."""

import random
import time
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.functions import arrow_udf

from penstock.client import Connection

STREAMS = {"meters": 4, "trucks": 6, "orders": 8}  # seconds for which their tuples are worth much
KINDS = 40  # of tuples; a query takes one to four of them
PAYLOAD = "x" * 200
# What a tuple that is kept costs: a third of the queries wait for a service, in Python; a third
# compute in Python; a third in Spark SQL. Each draws a factor between its bounds.
WAITING_MS, COMPUTING_MS, ROUNDS = (2, 30), (1, 10), (4_000, 40_000)
WEIGHTS = (1, 10)


@dataclass(frozen=True, slots=True)
class Query:
    """A query: its text, and how much it matters."""

    name: str
    weight: int
    text: str

    def sql(self) -> str:
        """Return the statement that makes it."""
        return f"CREATE QUERY {self.name} WITH (weight => {self.weight}) AS {self.text}"


def queries(count: int, seed: int) -> list[Query]:
    """Return so many queries, in turns over the streams."""
    drawn = random.Random(seed)
    names = list(STREAMS)
    return [_query(number, names[number % len(names)], drawn) for number in range(count)]


def _query(number: int, stream: str, drawn: random.Random) -> Query:
    first = drawn.randrange(KINDS)
    kept = ", ".join(str((first + n) % KINDS) for n in range(drawn.randint(1, 4)))
    match number // len(STREAMS) % 3:
        case 0:
            work = f"waits(n, {1000 * drawn.uniform(*WAITING_MS):.0f}) AS v"
        case 1:
            work = f"computes(n, {1000 * drawn.uniform(*COMPUTING_MS):.0f}) AS v"
        case _:
            rounds = round(drawn.uniform(*ROUNDS))
            work = f"aggregate(sequence(1, {rounds}), n, (a, x) -> a ^ hash(a, x)) AS v"
    select = f"SELECT ts, {work} FROM {stream} WHERE n % {KINDS} IN ({kept})"
    return Query(f"q{number}", drawn.randint(*WEIGHTS), select)


def streams_sql() -> str:
    """Return the statements that make the streams."""
    return "".join(
        f"CREATE STREAM {name} (ts TIMESTAMP, n BIGINT, payload STRING) TIMESTAMP BY ts "
        f"VALID FOR INTERVAL {seconds} SECONDS FROM push();"
        for name, seconds in STREAMS.items()
    )


def train(rows: int, first: int) -> pa.Table:
    """Return tuples of this moment, numbered on."""
    now = pa.scalar(round(time.time() * 1e6), pa.timestamp("us", "UTC"))
    return pa.table(
        {
            "ts": pa.repeat(now, rows),
            "n": pa.array(range(first, first + rows), pa.int64()),
            "payload": pa.repeat(PAYLOAD, rows),
        }
    )


def register_functions(connection: Connection) -> None:
    """Give SQL two functions that take so many microseconds for each tuple."""

    def waits(values: pa.Array, microseconds: pa.Array) -> pa.Array:
        time.sleep(sum(each.as_py() for each in microseconds) / 1e6)
        return values

    def computes(values: pa.Array, microseconds: pa.Array) -> pa.Array:
        until = time.thread_time() + sum(each.as_py() for each in microseconds) / 1e6
        while time.thread_time() < until:
            pass
        return values

    sessions = connection.system.sessions
    for session in (sessions.small, sessions.large, sessions.wide, sessions.analysis):
        session.udf.register("waits", arrow_udf(waits, "bigint"))
        session.udf.register("computes", arrow_udf(computes, "bigint"))
