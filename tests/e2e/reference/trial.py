"""Puts standing queries to generated streams and compares their rows with the reference."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, Phase, settings
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from tests.e2e.reference.streams import Flow
from tests.e2e.support import EACH_TRAIN_ALONE, bag, figures, finish, plain, results
from tests.examples import IS_WHOLE

LAW = settings(
    max_examples=25 if IS_WHOLE else 3,  # each runs several queries on Spark
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a case is told as it was found
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
numbers = itertools.count()


@dataclass(frozen=True)
class Question:
    """A SELECT over streams written `$s`, the rows it should give, and what follows WITH."""

    sql: str
    answer: list[tuple[Any, ...]]
    options: str = ""
    numbered: bool = False  # whether its windows' bounds are tuple numbers


@contextmanager
def each_train_alone(home: Path, spark: SparkSession) -> Iterator[Connection]:
    """Open a connection for many trials that runs every train by itself, waiting or not."""
    with penstock.connect(home, spark=spark, settings=EACH_TRAIN_ALONE) as connection:
        yield connection


def ask(ps: Connection, flows: Mapping[str, Flow], questions: list[Question]) -> None:
    """Run the questions at once over the streams, from their first tuple to their end."""
    trial = next(numbers)
    streams = {name: f"{name}_{trial}" for name in flows}
    queries = {f"q{place}_{trial}": question for place, question in enumerate(questions)}
    try:
        ps.script(
            "".join(flow.definition(streams[name]) for name, flow in flows.items())
            + "".join(_creation(name, each, streams) for name, each in queries.items())
        )
        _source_reader(ps, {streams[name]: flow for name, flow in flows.items()})
        finish(ps)
        for name, question in queries.items():
            _compare(ps, name, question)
    finally:  # the next trial waits until every source has ended
        for name in queries:
            ps.sql(f"DROP QUERY IF EXISTS {name}")
        for name in streams.values():
            ps.sql(f"DROP STREAM IF EXISTS {name}")


def _creation(name: str, question: Question, streams: Mapping[str, str]) -> str:
    options = f" WITH ({question.options})" if question.options else ""
    return f"CREATE QUERY {name}{options} AS {Template(question.sql).substitute(streams)};"


def _source_reader(ps: Connection, flows: Mapping[str, Flow]) -> None:
    """Push a train of each stream in turn, so that no stream is far ahead of the others."""
    for name, train in _by_turns({name: flow.trains() for name, flow in flows.items()}):
        ps.push(name, train)
    for name in flows:
        ps.end(name)


def _by_turns(trains: Mapping[str, Iterable[Any]]) -> Iterator[tuple[str, Any]]:
    for turn in itertools.zip_longest(*trains.values()):
        yield from ((name, train) for name, train in zip(trains, turn, strict=True) if train)


def _compare(ps: Connection, name: str, question: Question) -> None:
    standing = figures(ps, name)
    assert standing["state"] == "FINISHED", standing
    assert standing["late_rows"] == 0, standing
    found = results(ps, name)
    assert bag(found) == Counter(tuple(map(plain, row)) for row in question.answer), question.sql
    if question.numbered and found.num_rows:
        assert {found.schema.field(each).type for each in ("window_start", "window_end")} == {
            pa.int64()
        }
