"""A case: streams with their rows, a table, and queries, all drawn from one seed."""

import random
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pyarrow as pa

from penstock.engine.trains.types import arrow_schema
from penstock.model.schema import Column, Schema
from tests.e2e.oracle.queries import Query
from tests.fuzz.columns import BEGIN, Field, draw_field, draw_value
from tests.fuzz.names import draw_names
from tests.fuzz.queries import Source, Writer

SLACK_SECONDS = 10
QUERIES = 8
COUNTS = (0, 3, 12, 12, 30, 40, 40, 40, 60, 90, 90, 200)
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Relation:
    """A stream, or a table where `time` is empty, with all its rows in order of arrival."""

    name: str
    fields: tuple[Field, ...]
    time: str
    rows: tuple[Row, ...]

    @property
    def exact(self) -> str:
        """Return its name in backticks."""
        return "`" + self.name.replace("`", "``") + "`"

    def ddl(self) -> str:
        """Return its columns."""
        return self.schema.ddl()

    def table(self) -> pa.Table:
        """Return its rows as Arrow; columns by place, since Arrow takes rows by name."""
        schema = arrow_schema(self.schema)
        columns = zip(*self.rows, strict=True) if self.rows else ([] for _ in self.fields)
        arrays = [
            pa.array(list(values), each.type) for values, each in zip(columns, schema, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=schema)

    @property
    def schema(self) -> Schema:
        """Return its columns with their types."""
        return Schema(tuple(Column(each.name, each.type.lower()) for each in self.fields))


@dataclass(frozen=True)
class Case:
    """What is run and compared. A query may read those before it."""

    streams: tuple[Relation, ...]
    table: Relation
    queries: tuple[Query, ...]

    @property
    def row_count(self) -> int:
        """Return how many rows the streams have."""
        return sum(len(stream.rows) for stream in self.streams)


def draw_case(seed: str, queries: int = QUERIES) -> Case:
    """Return the case of a seed."""
    chance = random.Random(seed)
    names = draw_names(chance, 3 + queries)
    streams = tuple(_stream(chance, name) for name in names[:2])
    table = _table(chance, names[2])
    known = [Source(each.name, each.fields, each.time, is_numbered=True) for each in streams]
    writer = Writer(chance, known, Source(table.name, table.fields))
    made = []
    for name in names[3:]:
        one = writer.draw(name)
        made.append(one.query)
        if one.source.time:
            writer.streams.append(one.source)
    return Case(streams, table, tuple(made))


def _stream(chance: random.Random, name: str) -> Relation:
    names = draw_names(chance, chance.randrange(2, 9))
    time = Field(names[0], "TIMESTAMP", "time", calm=False)
    fields = [time, *(draw_field(chance, each) for each in names[1:])]
    chance.shuffle(fields)
    count, minutes = chance.choice(COUNTS), chance.choice((1, 3))
    arrivals = sorted(chance.randrange(minutes * 60_000) for _ in range(count))
    rows = tuple(_row(chance, fields, time, at) for at in arrivals)
    return Relation(name, tuple(fields), time.name, rows)


def _row(chance: random.Random, fields: list[Field], time: Field, at: int) -> Row:
    slack = SLACK_SECONDS * 1000
    behind = chance.choice((0, 0, 0, 1, 2_500, slack, chance.randrange(slack + 1)))
    when = BEGIN + timedelta(
        milliseconds=(at if chance.random() < 0.8 else at // 1000 * 1000) - behind
    )
    when = max(when, BEGIN + timedelta(milliseconds=at - slack))
    return tuple(when if each is time else draw_value(chance, each) for each in fields)


def _table(chance: random.Random, name: str) -> Relation:
    fields = [draw_field(chance, each) for each in draw_names(chance, chance.randrange(2, 5))]
    rows = tuple(
        tuple(draw_value(chance, each) for each in fields) for _ in range(chance.choice((1, 5, 12)))
    )
    return Relation(name, tuple(fields), "", rows)
