"""`generator`: tuples made from their numbers, at rates that follow a profile.

Tuple n's row depends on the definition, the start and n alone. A boundary is `{from, to}`, tuple
numbers. The stream starts when it is first asked for tuples, which is when all stands that was
defined together; the home keeps that moment, so that a restart goes on in the same time line.
"""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from penstock.engine.arrow.answers import answer
from penstock.engine.interfaces.arrivals import (
    SECOND,
    Arrivals,
    Poisson,
    bmodel,
    burst,
    constant,
    uniforms,
)
from penstock.engine.interfaces.durable import make_home, read_json, write_json
from penstock.engine.interfaces.expressions import (
    IN_REACH,
    NUMBERS,
    as_column,
    as_sql,
    check_expression,
    randoms_in,
    with_randoms,
)
from penstock.engine.interfaces.frames import SPARK_FAILURES, sweep, through_spark
from penstock.engine.interfaces.interface import Boundary, Ingest, Offer, Surroundings
from penstock.engine.interfaces.rejects import event_time, without_timeless
from penstock.engine.options import (
    Declared,
    anything,
    flag,
    interval,
    moment,
    number,
    one_of,
    read_options,
    whole,
)
from penstock.engine.spark.spark_errors import sentence
from penstock.engine.trains.rows import fit, is_small
from penstock.engine.trains.types import arrow_schema
from penstock.engine.trains.vectors import as_lists, with_packed
from penstock.errors import BadOptionError, SourceError
from penstock.model.definitions import Connector, Expression, Option, StreamDefinition
from penstock.model.schema import Column

MOST_RATE = 1e7  # tuples a second; times are in microseconds
RATE = number(least=1e-6, most=MOST_RATE, words="a rate above zero, at most 10 million")

OPTIONS = {
    "rate": Declared(RATE, default=1000.0, about="tuples a second on average"),
    "profile": Declared(
        one_of("constant", "poisson", "burst", "bmodel"), default="constant", about="of arrivals"
    ),
    "rows": Declared(whole(), about="how many tuples; without end where it is left out"),
    "seed": Declared(whole(at_least=0), default=0, about="of everything random"),
    "start": Declared(moment, about="event time of the first tuple"),
    "paced": Declared(flag, default=True, about="tuples come when they are due"),
    "speed": Declared(
        number(least=1e-6, most=1e6, words="a factor above zero"),
        default=1.0,
        about="seconds of the stream that pass in one",
    ),
    "rows_per_train": Declared(whole(), default=1000, about="most tuples in a train"),
    "burst_rate": Declared(RATE, about="tuples a second in a burst; 10 times the rate"),
    "burst_every": Declared(interval, default=timedelta(seconds=10), about="between bursts"),
    "burst_length": Declared(interval, default=timedelta(seconds=1), about="of a burst"),
    "bias": Declared(
        number(least=0.5, most=0.99, words="from 0.5 to 0.99"),
        default=0.7,
        about="of the b-model: the share of the busier half",
    ),
    "disorder": Declared(interval, about="event times lie up to so long before arrival"),
}
GATHER_SECONDS = (
    0.05  # a stream of single tuples is read so often: each train has a cost of its own
)
BURST_FACTOR = 10  # of burst_rate to rate, where it is not given
COLUMN_PREFIX = "column_"  # for a column whose name is that of an option


@dataclass(frozen=True, slots=True)
class GeneratorSettings:
    """The checked options, and the value of each column in the stream's order."""

    rate: float
    profile: str
    rows: int | None
    seed: int
    start: datetime | None
    paced: bool
    speed: float
    rows_per_train: int
    burst_rate: float | None
    burst_every: timedelta
    burst_length: timedelta
    bias: float
    disorder: timedelta | None
    values: tuple[Option, ...]

    def arrivals(self) -> Arrivals:
        """Return the arrival times of the profile."""
        match self.profile:
            case "poisson":
                return Poisson(self.rate, self.seed)
            case "burst":
                peak = self.burst_rate or self.rate * BURST_FACTOR
                every, length = self.burst_every, self.burst_length
                return burst(self.rate, peak, every.total_seconds(), length.total_seconds())
            case "bmodel":
                return bmodel(self.rate, self.bias, self.seed)
            case _:
                return constant(self.rate)


@dataclass(frozen=True, slots=True)
class TimeLine:
    """The event time of the first tuple, and when it arrived; microseconds since 1970."""

    start: int
    origin: int


class Generator:
    """One generated stream."""

    def __init__(self, definition: StreamDefinition, around: Surroundings) -> None:
        """Keep the options; the time line starts when tuples are first asked for."""
        self._stream = definition
        self._settings = settings_of(definition)
        self._around = around
        self._arrivals = self._settings.arrivals()
        self._line: TimeLine | None = None
        self._position, self._offered_at = 0, -math.inf

    @staticmethod
    def check(definition: StreamDefinition) -> None:
        settings_of(definition)

    @property
    def bounded(self) -> bool:
        return self._settings.rows is not None

    @property
    def is_paced(self) -> bool:
        return self._settings.paced

    @property
    def ended(self) -> bool:
        return self._settings.rows is not None and self._position >= self._settings.rows

    def open(self, after: Boundary | None) -> None:
        make_home(self._around.home)
        sweep(self._around)
        self._check_expressions()
        self._line = None
        self._position = 0 if after is None else int(after["to"])

    def next(self) -> Offer | None:
        first = self._position
        last = min(first + self._settings.rows_per_train, self._limit())
        if last <= first or self._gathers(first, last):
            return None
        self._position, self._offered_at = last, self._around.clock.now()
        return Offer({"from": first, "to": last}, self._arrived(first))

    def read(self, boundary: Boundary) -> Ingest:
        first, last = int(boundary["from"]), int(boundary["to"])
        numbers = self._numbers(first, last, self._started().start)
        try:
            lists = as_lists(self._stream.schema)
            rows = self._plain(numbers)
            if rows is None:
                rows = through_spark(numbers, self._rows, lists, self._around)
            rows, _ = with_packed(rows, self._stream.schema)
        except SPARK_FAILURES as error:
            raise SourceError(
                f"an expression of the generator of {self._stream.name} failed: {sentence(error)}",
                hint="the try_ functions of Spark SQL give NULL instead",
            ) from error
        return Ingest(*without_timeless(rows, event_time(self._stream)))

    def commit(self, boundary: Boundary) -> None:
        """Keep nothing: every tuple can be made again."""

    def close(self) -> None:
        """Hold nothing."""

    def _gathers(self, first: int, last: int) -> bool:
        """Say whether more tuples are about to come, and who reads has just had some."""
        settings = self._settings
        more = last - first < settings.rows_per_train and last != settings.rows
        due = self._offered_at + GATHER_SECONDS
        return settings.paced and more and self._around.clock.now() < due

    def _limit(self) -> int:
        """Return the number past the last tuple that may be offered now."""
        settings = self._settings
        most = self._position + settings.rows_per_train if settings.rows is None else settings.rows
        if not settings.paced:
            return most
        played = (self._around.clock.now() * SECOND - self._started().origin) * settings.speed
        return min(most, self._arrivals.due(int(played)))

    def _arrived(self, first: int) -> float:
        if not self._settings.paced:
            return self._around.clock.now()
        played = float(self._arrivals.times(first, 1)[0]) / self._settings.speed
        return (self._started().origin + played) / SECOND

    def _started(self) -> TimeLine:
        """Return the time line that was begun when tuples were first asked for."""
        if self._line is None:
            self._line = self._time_line()
        return self._line

    def _time_line(self) -> TimeLine:
        kept = self._around.home / "start.json"
        line = read_json(kept)
        if line is None:
            now = int(self._around.clock.now() * SECOND)
            start = self._settings.start
            line = {"start": now if start is None else _micros(start), "origin": now}
            write_json(kept, line)
        return TimeLine(**line)

    def _numbers(self, first: int, last: int, start: int) -> pa.Table:
        """Return the numbers and event times of tuples of a stream that starts then."""
        times = self._arrivals.times(first, last - first) + start
        if self._settings.disorder is not None:
            bound = self._settings.disorder / timedelta(microseconds=1)
            delays = uniforms(self._settings.seed, first, last - first) * bound
            times -= np.floor(delays).astype(np.int64)
        numbers = np.arange(first, last, dtype=np.int64)
        kind = pa.timestamp("us", "UTC")
        return pa.table({"n": numbers, "ts": pa.array(times).cast(kind)})

    def _plain(self, numbers: pa.Table) -> pa.Table | None:
        """Return the rows by Arrow, where they are few and it makes what Spark would."""
        places, seed = randoms_in(self._settings.values), self._settings.seed
        columns = zip(self._stream.schema, self._settings.values, strict=True)
        sql = as_sql(tuple(columns), places, seed)
        found = answer(sql, {NUMBERS: numbers}) if sql and is_small(numbers) else None
        return None if found is None else fit(found, arrow_schema(self._stream.schema))

    def _rows(self, numbers: DataFrame) -> DataFrame:
        columns = zip(as_lists(self._stream.schema), self._settings.values, strict=True)
        return self._with_randoms(numbers).select(
            *(as_column(column, option) for column, option in columns)
        )

    def _with_randoms(self, numbers: DataFrame) -> DataFrame:
        places = randoms_in(self._settings.values)
        return with_randoms(numbers, places, self._settings.seed)

    def _check_expressions(self) -> None:
        """Raise what is wrong with an expression, one column at a time, without running it."""
        numbers = self._around.spark.createDataFrame(self._numbers(0, 1, start=0))
        numbers = self._with_randoms(numbers)
        lists = as_lists(self._stream.schema)
        for column, option in zip(lists, self._settings.values, strict=True):
            check_expression(numbers, column, option)


def settings_of(definition: StreamDefinition) -> GeneratorSettings:
    """Return the checked options."""
    taken: dict[str, Option] = {}
    others: list[tuple[str, Option]] = []
    columns = {_option_name(column): column for column in definition.schema}
    columns |= {COLUMN_PREFIX + column.name.lower(): column for column in definition.schema}
    for name, value in definition.source.options:
        if name in columns:
            taken[columns[name].name] = value
        else:
            others.append((name, value))
    known = OPTIONS | {name: Declared(anything) for name in columns}
    options = read_options(Connector(definition.source.name, tuple(others)), known)
    if options["burst_length"] >= options["burst_every"]:
        raise BadOptionError("option burst_length of generator must be below burst_every")
    values = tuple(_value_option(definition, column, taken) for column in definition.schema)
    return GeneratorSettings(**{name: options[name] for name in OPTIONS}, values=values)


def _option_name(column: Column) -> str:
    name = column.name.lower()
    return COLUMN_PREFIX + name if name in OPTIONS else name


def _value_option(definition: StreamDefinition, column: Column, taken: dict[str, Option]) -> Option:
    if column.name in taken:
        return taken[column.name]
    if column.name == event_time(definition):
        return Expression("ts")
    option = _option_name(column)
    raise BadOptionError(
        f"generator needs an expression for the column {column.name}",
        hint=f"write {option} => an expression over {IN_REACH}",
    )


def _micros(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
