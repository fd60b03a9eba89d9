"""`spark`: any Structured Streaming source, by its format and its own options.

A format is the name of a class that Spark loads. Those that read local files or nothing at all are
open to every statement; the others, and options that name classes, wait for the operator.

An inner streaming query keeps each micro-batch as Parquet in the home, once, whatever Spark
repeats after a crash; a train is one of those batches. A boundary is `{batch}`, Spark's number.
"""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its name everywhere
from pyspark.sql.streaming.query import StreamingQuery

from penstock.engine.allowed import Allowed
from penstock.engine.interfaces.durable import make_home, read_json, write_json
from penstock.engine.interfaces.frames import SPARK_FAILURES
from penstock.engine.interfaces.interface import Boundary, Ingest, Offer, Surroundings
from penstock.engine.interfaces.rejects import REJECTS, Reject, event_time, joined, no_time
from penstock.engine.options import (
    Declared,
    flag,
    interval,
    local_path,
    read_options,
    shown,
    text,
)
from penstock.engine.spark.spark_errors import sentence
from penstock.engine.trains.types import arrow_schema, spark_schema
from penstock.errors import (
    SHOWN,
    BadOptionError,
    NotAllowedError,
    SourceError,
    TypeMismatchError,
    UnknownColumnError,
    shortened,
)
from penstock.model.definitions import Connector, Expression, Option, Secret, StreamDefinition
from penstock.model.schema import Column, quoted

OPTIONS = {
    "format": Declared(text, required=True, about="the source, as in spark.readStream.format"),
    "bounded": Declared(flag, default=False, about="take what is there, then end"),
    "interval": Declared(interval, default=timedelta(seconds=1), about="between micro-batches"),
}
# They load no class of anybody else's, and read numbers of their own or local files.
OPEN_FORMATS = ("rate", "rate-micro-batch", "json", "csv", "parquet", "orc", "text", "binaryfile")
# These read nothing without being told their columns; the others know theirs.
SCHEMA_FORMATS = ("json", "csv", "parquet", "orc", "xml", "avro")
FAST_CHECKPOINTS = {  # a third of the time of the default one, which forks processes (SPARK.md)
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming"
    ".checkpointing.FileSystemBasedCheckpointFileManager"
}
DRAFT = ".draft"
ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]+:")  # from the root, or with a scheme


@dataclass(frozen=True, slots=True)
class ColumnSelection:
    """The stream's columns out of the source's, why a row does not fit, and the row as text."""

    columns: tuple[SparkColumn, ...]
    reason: SparkColumn
    raw: SparkColumn


class Spark:
    """One stream read by an inner streaming query."""

    def __init__(self, definition: StreamDefinition, around: Surroundings) -> None:
        """Keep the options; the query starts when it is opened."""
        self._stream = definition
        self._options, self._passed = options_of(definition)
        self._around = around
        self._batches = around.home / "batches"
        self._query: StreamingQuery | None = None
        self._done = False
        self._skip = -1  # batches up to this one were taken before we opened
        self._position = -1
        self._arrived: dict[int, float] = {}

    @staticmethod
    def check(definition: StreamDefinition) -> None:
        options_of(definition)

    @property
    def bounded(self) -> bool:
        return bool(self._options["bounded"])

    @property
    def ended(self) -> bool:
        return self._done and not self._waiting()

    def open(self, after: Boundary | None) -> None:
        self.close()
        make_home(self._batches)
        for draft in self._batches.glob(f"*{DRAFT}"):
            shutil.rmtree(draft)
        self._position = self._skip = -1 if after is None else int(after["batch"])
        self._done = self.bounded and read_json(self._around.home / "done.json") is not None
        if not self._done:
            self._start()

    def next(self) -> Offer | None:
        stopped = self._query is not None and not self._query.isActive
        waiting = self._waiting()  # after the look at the query: its last batch is not missed
        if waiting:
            self._position = waiting[0]
            return Offer({"batch": waiting[0]}, self._arrival(waiting[0]))
        if stopped:
            self._end()
        return None

    def read(self, boundary: Boundary) -> Ingest:
        batch = self._batch(int(boundary["batch"]))
        if not batch.is_dir():
            raise SourceError(
                f"batch {boundary['batch']} of {self._stream.name} is not there",
                hint="was it removed from the home by hand?",
            )
        rows = tuple(sorted((batch / "rows").glob("*.parquet")))
        kept = sorted((batch / "rejects").glob("*.parquet"))
        rejects = joined(pq.read_table(path, schema=REJECTS) for path in kept)
        return Ingest(rows or arrow_schema(self._stream.schema).empty_table(), rejects)

    def commit(self, boundary: Boundary) -> None:
        for number in self._numbers():
            if number <= int(boundary["batch"]):
                shutil.rmtree(self._batch(number), ignore_errors=True)
                self._arrived.pop(number, None)

    def close(self) -> None:
        if self._query is not None:
            self._query.stop()
            self._query = None

    def _start(self) -> None:
        refuse_closed(self._options["format"], self._passed, self._around.allowed())
        session = _own_session(self._around.spark)
        source = self._load(session)
        selection = select(source, self._stream)
        self._check(source, selection)

        def keep(batch: DataFrame, number: int) -> None:
            self._keep(batch, number, selection)

        writer = source.writeStream.foreachBatch(keep)
        writer = writer.option("checkpointLocation", str(self._around.home / "checkpoint"))
        if self.bounded:
            writer = writer.trigger(availableNow=True)
        else:
            every = self._options["interval"] // timedelta(milliseconds=1)
            writer = writer.trigger(processingTime=f"{every} milliseconds")
        try:
            self._query = writer.start()
        except SPARK_FAILURES as error:
            raise self._failed(sentence(error)) from error

    def _load(self, session: SparkSession) -> DataFrame:
        name = self._options["format"]
        reader = session.readStream.format(name).options(**self._passed)
        if name.lower() in SCHEMA_FORMATS:
            reader = reader.schema(spark_schema(self._stream.schema))
        try:
            return reader.load()
        except SPARK_FAILURES as error:
            raise BadOptionError(
                f"spark cannot read the format {name}: {sentence(error)}",
                hint="check the source's options; for Kafka set spark.jars.packages",
            ) from error

    def _check(self, source: DataFrame, selection: ColumnSelection) -> None:
        try:
            source.select(*selection.columns, selection.reason)
        except SPARK_FAILURES as error:
            raise TypeMismatchError(
                f"{self._options['format']} does not fit {self._stream.name}: {sentence(error)}",
                hint=f"the source has {source.schema.simpleString()}",
            ) from error

    def _keep(self, batch: DataFrame, number: int, selection: ColumnSelection) -> None:
        """Write a micro-batch, unless it is there or was taken already."""
        place = self._batch(number)
        if number <= self._skip or place.exists():
            return
        draft = place.with_name(place.name + DRAFT)
        shutil.rmtree(draft, ignore_errors=True)
        reason, rows, unfit = F.col("reason"), F.count(F.lit(1)), F.count("reason")
        told = batch.select(*selection.columns, selection.reason.alias("reason"))
        seen = Observation()
        fits = told.observe(seen, rows.alias("rows"), unfit.alias("unfit")).where(reason.isNull())
        fits.drop("reason").write.parquet(str(draft / "rows"))
        counts = seen.get
        if not counts["rows"]:
            shutil.rmtree(draft)
            return
        if counts["unfit"]:
            wrong = batch.select(selection.raw.alias("raw"), selection.reason.alias("reason"))
            wrong = wrong.where(reason.isNotNull()).select("raw", "reason.*")
            wrong.write.parquet(str(draft / "rejects"))
        self._arrived[number] = self._around.clock.now()
        draft.rename(place)

    def _end(self) -> None:
        """Take note that the query has ended, or raise why."""
        error = self._query.exception() if self._query is not None else None
        if error is not None:
            raise self._failed(sentence(error)) from error
        if not self.bounded:
            raise self._failed("its query was stopped by another")
        if not self._done:
            write_json(self._around.home / "done.json", True)
            self._done = True

    def _failed(self, why: str) -> SourceError:
        return SourceError(
            f"{self._options['format']} of {self._stream.name} failed: {why}",
            hint="when the cause is gone, resume; what was read is kept",
        )

    def _waiting(self) -> list[int]:
        return [number for number in self._numbers() if number > self._position]

    def _numbers(self) -> list[int]:
        return sorted(int(path.name) for path in self._batches.glob("*") if path.name.isdigit())

    def _batch(self, number: int) -> Path:
        return self._batches / f"{number:012}"

    def _arrival(self, number: int) -> float:
        return self._arrived.get(number) or self._batch(number).stat().st_mtime


def options_of(definition: StreamDefinition) -> tuple[dict[str, Any], dict[str, str]]:
    """Return our options, and those that go to the source as they are."""
    source = definition.source
    ours = tuple((name, value) for name, value in source.options if name in OPTIONS)
    passed = {name: _as_text(value) for name, value in source.options if name not in OPTIONS}
    event_time(definition)
    if "path" in passed and not ABSOLUTE.match(passed["path"]):
        # Java has a working directory of its own, that of its start.
        passed["path"] = str(Path(passed["path"]).absolute())
    return read_options(Connector(source.name, ours), OPTIONS), passed


def refuse_closed(name: str, options: Mapping[str, str], allowed: Allowed) -> None:
    """Raise where a format, or what its options reach, is not open and nobody has opened it."""
    if name.lower() in {each.lower() for each in allowed.formats}:
        return
    if name.lower() not in OPEN_FORMATS:
        raise _closed(name, f"no statement may read the format {name}")
    given = {option.lower(): value for option, value in options.items()}
    for option, value in given.items():
        named = "." in option  # goes to Hadoop, where it may name a class
        if named or (option == "cleansource" and value.lower() != "off"):  # moves files, or worse
            raise _closed(name, f"no statement may give the format {name} the option {option}")
    if "path" in given:
        try:
            place = local_path(given["path"])
        except ValueError:
            raise _closed(name, f"{shortened(given['path'])} is not on this machine") from None
        allowed.require_readable(str(place))


def _closed(name: str, what: str) -> NotAllowedError:
    return NotAllowedError(
        what,
        hint=f"the operator can open the format with all its options: connect(formats=['{name}']), "
        "--allow-format, allow.formats of a server, or a line of the file `formats` in the home",
    )


def select(source: DataFrame, definition: StreamDefinition) -> ColumnSelection:
    """Return how the source's rows become the stream's; UnknownColumnError where one is missing."""
    has = {name.lower(): name for name in source.columns}
    for column in definition.schema:
        if column.name.lower() not in has:
            raise UnknownColumnError(
                f"the source of {definition.name} has no column {column.name}",
                hint=f"it has {source.schema.simpleString()}",
            )
    taken = [(column, F.col(quoted(has[column.name.lower()]))) for column in definition.schema]
    columns = tuple(given.try_cast(column.type).alias(column.name) for column, given in taken)
    reasons = [_misfit(column, given) for column, given in taken]
    timed = definition.schema.find(event_time(definition) or "")
    if timed is not None:
        missing = F.col(quoted(has[timed.name.lower()])).isNull()
        reasons.append(F.when(missing, _why(no_time(timed.name), timed, "time", F.lit(None))))
    raw = F.to_json(F.struct(*(F.col(quoted(name)) for name in source.columns)))
    return ColumnSelection(columns, F.coalesce(*reasons), raw)


def _misfit(column: Column, given: SparkColumn) -> SparkColumn:
    wrong = given.isNotNull() & given.try_cast(column.type).isNull()
    reason = f"{column.name}: the value is not {column.type.upper()}"
    return F.when(wrong, _why(reason, column, "type", F.substring(given.cast("string"), 1, SHOWN)))


def _why(reason: str, column: Column, kind: str, value: SparkColumn) -> SparkColumn:
    """Return what a reject says beside the row itself."""
    told = (F.lit(reason), F.lit(column.name), F.lit(kind), value.cast("string"))
    names = Reject._fields[1:]
    return F.struct(*(each.alias(name) for name, each in zip(names, told, strict=True)))


def _own_session(spark: SparkSession) -> SparkSession:
    """Return a session with the user's views and sources and our own settings."""
    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    for name, value in FAST_CHECKPOINTS.items():
        session.conf.set(name, value)
    return session


def _as_text(value: Option) -> str:
    match value:
        case str():
            return value
        case timedelta():
            return f"{value // timedelta(milliseconds=1)} milliseconds"
        case Secret():
            raise BadOptionError(
                f"options that go to Spark take no {shown(value)}",
                hint="Spark shows them to whoever asks for its settings",
            )
        case Expression() | bool() | int() | float():
            return shown(value)
