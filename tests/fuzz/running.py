"""Runs a case in Penstock, in one of many ways that must make no difference."""

import itertools
import random
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import PenstockError
from penstock.runtime.loop.supervisor import Settings
from penstock.runtime.work.run_limits import RUN_LIMITS
from tests.e2e.support import EACH_TRAIN_ALONE, figures, results
from tests.fuzz.case import SLACK_SECONDS, Case, Relation

HANG_SECONDS = 240.0  # nothing here takes a tenth of it, on a busy machine either
STRATEGIES = ("", "fifo", "chain", "pcs", "segment", "optprofit", "adaptive", "earliest_deadline")


@dataclass(frozen=True)
class Variant:
    """How rows come in and who decides: none of it may change an answer."""

    train: int = 1000
    source_reader: str = "push"  # or "files"
    share: bool = True
    strategy: str = ""
    each_alone: bool = False  # whether trains that wait are run one by one
    restart: bool = False  # whether the system is closed and opened half-way
    kills: int = 0  # how often the command is killed; it is only asked where this is above 0
    kill_seed: int = 0

    def __str__(self) -> str:
        """Return it in a few words."""
        words = [self.source_reader, f"trains of {self.train}", self.strategy]
        words += [f"killed {self.kills} times"] if self.kills else []
        words += [name for name in ("each_alone", "restart") if getattr(self, name)]
        return " ".join(filter(None, (*words, "" if self.share else "unshared")))


PLAIN = Variant()


@dataclass(frozen=True)
class Refused:
    """Penstock does not take the query."""

    code: str
    text: str


@dataclass(frozen=True)
class Failed:
    """The query was taken and stopped, or something else than its rows came of it."""

    kind: str
    text: str


Outcome: TypeAlias = pa.Table | Refused | Failed


def draw_variant(chance: random.Random, case: Case) -> Variant:
    """Draw a way of running a case."""
    return Variant(
        train=chance.choice((1, 7, 7, 1000) if case.row_count <= 60 else (7, 7, 1000)),
        source_reader=chance.choice(("push", "push", "files")),
        share=chance.random() < 0.6,
        strategy=chance.choice(STRATEGIES),
        each_alone=chance.random() < (0.5 if case.row_count <= 60 else 0.1),
        restart=chance.random() < 0.15,
    )


def run(spark: SparkSession, case: Case, variant: Variant, place: Path) -> dict[str, Outcome]:
    """Return what came of each query."""
    found: dict[str, Outcome] = {}
    try:
        _run(spark, case, variant, place, found)
    except Exception:  # whatever else is raised is a finding, and the next case goes on
        text = traceback.format_exc()
        found |= {q.name: Failed("raised", text) for q in case.queries if q.name not in found}
    return found


def _run(
    spark: SparkSession, case: Case, variant: Variant, place: Path, found: dict[str, Outcome]
) -> None:
    limits = EACH_TRAIN_ALONE.limits if variant.each_alone else RUN_LIMITS
    settings = Settings(share=variant.share, limits=limits)
    trains = list(_trains(case, variant))
    cut = len(trains) // 2 if variant.restart else len(trains)
    with penstock.connect(place / "home", spark=spark, settings=settings, begin=False) as ps:
        for text in definitions(case, variant, place):
            ps.sql(text)
        found |= _created(ps, case)
        ps.begin()
        for name, train in trains[:cut]:
            ps.push(name, train)
        if not variant.restart:
            _collect(ps, case, variant, found)
    if variant.restart:
        with penstock.connect(place / "home", spark=spark, settings=settings) as ps:
            for name, train in trains[cut:]:
                ps.push(name, train)
            _collect(ps, case, variant, found)


def probe(spark: SparkSession, case: Case, place: Path) -> dict[str, Outcome]:
    """Return the queries that are not taken."""
    with penstock.connect(place / "home", spark=spark, begin=False) as ps:
        for text in definitions(case, PLAIN, place):
            ps.sql(text)
        return _created(ps, case)


def definitions(case: Case, variant: Variant, place: Path) -> Iterator[str]:
    """Yield the statements before the queries, and write the files that they name."""
    path = place / "table.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(case.table.table(), path)
    # With its columns: Parquet alone does not say that a number is an interval.
    table = f"{case.table.exact} ({case.table.ddl()})"
    yield f"CREATE TABLE {table} FROM files(path => '{path}', format => 'parquet')"
    for number, stream in enumerate(case.streams):
        yield _definition(stream, variant, place / f"stream{number}.parquet")
    if variant.strategy:
        yield f"SET STRATEGY {variant.strategy}"


def _definition(stream: Relation, variant: Variant, path: Path) -> str:
    source = f"push(rows_per_train => {variant.train})"
    if variant.source_reader == "files":
        pq.write_table(stream.table(), path)
        source = (
            f"files(path => '{path}', format => 'parquet', bounded => true, "
            f"rows_per_train => {variant.train})"
        )
    time = "`" + stream.time.replace("`", "``") + "`"
    return (
        f"CREATE STREAM {stream.exact} ({stream.ddl()}) TIMESTAMP BY {time} "
        f"SLACK INTERVAL {SLACK_SECONDS} SECONDS FROM {source}"
    )


def _created(ps: Connection, case: Case) -> dict[str, Outcome]:
    refused: dict[str, Outcome] = {}
    for query in case.queries:
        name = "`" + query.name.replace("`", "``") + "`"
        try:
            ps.sql(f"CREATE QUERY {name} AS {query.stream}")
        except PenstockError as error:
            refused[query.name] = Refused(error.code, str(error))
        except Exception:  # a refusal without a code is a finding
            refused[query.name] = Failed("raised", traceback.format_exc())
    return refused


def _trains(case: Case, variant: Variant) -> Iterator[tuple[str, pa.Table]]:
    """Yield a train of each stream in turn."""
    if variant.source_reader != "push":
        return
    cut = [
        [
            (s.name, s.table().slice(at, variant.train))
            for at in range(0, len(s.rows), variant.train)
        ]
        for s in case.streams
    ]
    for turn in itertools.zip_longest(*cut):
        yield from filter(None, turn)


def _collect(ps: Connection, case: Case, variant: Variant, found: dict[str, Outcome]) -> None:
    for stream in case.streams if variant.source_reader == "push" else ():
        ps.end(stream.name)
    is_done = ps.wait(HANG_SECONDS)
    for query in case.queries:
        if query.name in found:
            continue
        shown = figures(ps, query.name)
        if not is_done:
            found[query.name] = Failed("hang", str(shown))
        elif shown["state"] != "FINISHED":
            found[query.name] = Failed("stopped", str(shown))
        elif shown["late_rows"]:
            found[query.name] = Failed("late", str(shown))
        else:
            found[query.name] = results(ps, query.name)
