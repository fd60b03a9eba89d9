from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.clock import HandClock
from penstock.engine.interfaces.generator import GATHER_SECONDS, Generator
from penstock.engine.interfaces.interface import Surroundings
from penstock.errors import BadOptionError, SourceError, UnknownOptionError
from penstock.model.definitions import Connector, Expression, Option, StreamDefinition
from penstock.model.schema import Column, Schema
from tests.examples import examples

pytestmark = pytest.mark.spark

SCHEMA = Schema((Column("ts", "timestamp"), Column("id", "string"), Column("mph", "int")))
START = datetime(2024, 1, 1, tzinfo=UTC)
COLUMNS: dict[str, Option] = {
    "id": Expression("concat('car', n % 3)"),
    "mph": Expression("30 + u1 * 60"),
}
Make = Callable[..., Generator]


def defined(options: dict[str, Option], schema: Schema = SCHEMA) -> StreamDefinition:
    return StreamDefinition("s", schema, Connector("generator", tuple(options.items())), "TS")


@pytest.fixture
def clock() -> HandClock:
    return HandClock(START.timestamp())


@pytest.fixture
def make(tmp_path: Path, spark: SparkSession, clock: HandClock) -> Make:
    """Make unopened generators on one home."""

    def made(**options: Option) -> Generator:
        around = Surroundings(spark, clock, tmp_path / "home")
        return Generator(defined(COLUMNS | options), around)

    return made


def rows(generator: Generator, first: int, last: int) -> list[dict[str, object]]:
    table = generator.read({"from": first, "to": last}).rows
    assert isinstance(table, pa.Table)
    return list(table.to_pylist())


def test_rows_are_made_from_their_numbers(make: Make) -> None:
    generator = make(rate=10, start="2024-01-01", seed=5)
    generator.open(None)
    got = rows(generator, 0, 500)
    assert [row["ts"] for row in got[:3]] == [
        START,
        START + timedelta(milliseconds=100),
        START + timedelta(milliseconds=200),
    ]
    assert [row["id"] for row in got[:4]] == ["car0", "car1", "car2", "car0"]
    speeds = [int(str(row["mph"])) for row in got]
    assert (min(speeds), max(speeds)) == (30, 89)


PLAIN: dict[str, Option] = {
    "id": Expression("element_at(array('a', 'b'), CAST(1 + u1 * 2 AS INT)) || n % 7"),
    "mph": Expression("round(CASE WHEN u3 > 0.5 THEN 20 + 45 * u2 ELSE u4 * u4 * 9 END)"),
}


@settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(first=st.integers(0, 2**40), count=st.integers(1, 40), seed=st.integers(0, 2**31))
def test_arrow_makes_the_rows_that_spark_makes(
    make: Make, monkeypatch: pytest.MonkeyPatch, first: int, count: int, seed: int
) -> None:
    generator = make(**PLAIN, seed=seed, start="2024-01-01", rate=1000)
    generator.open(None)
    by_arrow = generator.read({"from": first, "to": first + count}).rows
    with monkeypatch.context() as patch:
        patch.setattr("penstock.engine.interfaces.generator.is_small", lambda _: False)
        by_spark = generator.read({"from": first, "to": first + count}).rows
    assert isinstance(by_arrow, pa.Table)
    assert by_arrow.equals(by_spark)


@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    profile=st.sampled_from(["constant", "poisson", "burst", "bmodel"]),
    cut=st.integers(1, 59),
)
def test_any_cut_into_trains_gives_the_same_rows(make: Make, profile: str, cut: int) -> None:
    generator = make(profile=profile, seed=7, disorder=timedelta(seconds=1), start="2024-01-01")
    generator.open(None)
    assert rows(generator, 0, 60) == rows(generator, 0, cut) + rows(generator, cut, 60)


def test_large_trains_take_the_other_way_and_give_the_same(make: Make) -> None:
    generator = make(start="2024-01-01")
    generator.open(None)
    whole = rows(generator, 5, 12_005)
    assert len(whole) == 12_000
    assert whole[11_990:] == rows(generator, 11_995, 12_005)


def test_a_paced_stream_offers_what_is_due(make: Make, clock: HandClock) -> None:
    generator = make(rate=10, rows_per_train=25, speed=2)
    generator.open(None)
    begun = generator.next()
    assert begun is not None
    assert begun.boundary == {"from": 0, "to": 1}
    clock.sleep(1.0)
    first = generator.next()
    assert first is not None
    assert first.boundary == {"from": 1, "to": 21}
    assert first.arrived == pytest.approx(START.timestamp() + 0.05)
    assert generator.next() is None
    clock.sleep(10.0)
    second = generator.next()
    assert second is not None
    assert second.boundary == {"from": 21, "to": 46}
    assert second.arrived == pytest.approx(START.timestamp() + 1.05)


def test_a_paced_stream_starts_when_it_is_first_asked(make: Make, clock: HandClock) -> None:
    generator = make(rate=10)
    generator.open(None)
    clock.sleep(60.0)
    offer = generator.next()
    assert offer is not None
    assert offer.boundary == {"from": 0, "to": 1}
    assert offer.arrived == clock.now()


def test_single_tuples_are_gathered_for_a_moment(make: Make, clock: HandClock) -> None:
    generator = make(rate=1000, rows_per_train=100)
    generator.open(None)
    assert generator.next() is not None
    clock.sleep(GATHER_SECONDS / 2)
    assert generator.next() is None
    clock.sleep(GATHER_SECONDS)
    offer = generator.next()
    assert offer is not None
    assert offer.boundary == {"from": 1, "to": 76}
    clock.sleep(1.0)
    trains = [generator.next() for _ in range(11)]
    sizes = [each.boundary["to"] - each.boundary["from"] for each in trains if each is not None]
    assert sizes == [100] * 10  # what waits is taken at once, train by train; one is under way


def test_a_restart_goes_on_in_the_same_time_line(make: Make, clock: HandClock) -> None:
    before = make(rate=10)
    before.open(None)
    assert before.next() is not None
    clock.sleep(60.0)
    again = make(rate=10, rows_per_train=10_000)
    again.open({"from": 0, "to": 5})
    offer = again.next()
    assert offer is not None
    assert offer.boundary == {"from": 5, "to": 601}
    assert rows(again, 0, 1)[0]["ts"] == START


def test_disorder_moves_event_times_back_within_its_bound(make: Make) -> None:
    straight, moved = make(rate=1000), make(rate=1000, disorder=timedelta(seconds=1))
    straight.open(None)
    moved.open(None)
    plain = [row["ts"] for row in rows(straight, 0, 1000)]
    times = [row["ts"] for row in rows(moved, 0, 1000)]
    delays = [one - other for one, other in zip(plain, times, strict=True)]
    assert times != sorted(times)
    assert min(delays) >= timedelta(0)
    assert timedelta(seconds=0.9) < max(delays) < timedelta(seconds=1)


def test_literals_stand_for_themselves_and_times_can_be_null(make: Make) -> None:
    late = Expression("if(n = 1, NULL, ts - INTERVAL 1 HOUR)")
    generator = make(id="Car", mph=42, ts=late, start="2024-01-01")
    generator.open(None)
    ingest = generator.read({"from": 0, "to": 2})
    assert isinstance(ingest.rows, pa.Table)
    hour = START - timedelta(hours=1)
    assert ingest.rows.to_pylist() == [{"ts": hour, "id": "Car", "mph": 42}]
    assert ingest.rejects is not None
    assert ingest.rejects.num_rows == 1


def test_a_column_that_has_an_options_name_is_given_with_a_prefix(
    tmp_path: Path, spark: SparkSession, clock: HandClock
) -> None:
    schema = Schema((Column("ts", "timestamp"), Column("speed", "double")))
    with pytest.raises(BadOptionError) as raised:
        Generator.check(defined({"speed": 3}, schema))
    assert "column_speed" in raised.value.hint
    definition = defined({"speed": 3, "column_speed": Expression("n * 2")}, schema)
    generator = Generator(definition, Surroundings(spark, clock, tmp_path))
    generator.open(None)
    assert [row["speed"] for row in rows(generator, 0, 3)] == [0.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("m + 1", "UNKNOWN_COLUMN"),
        ("speed_of(n)", "UNKNOWN_FUNCTION"),
        ("array(n)", "TYPE_MISMATCH"),
        ("n +", "BAD_OPTION"),
        ("n, 2", "BAD_OPTION"),
        ("rand()", "NOT_REPEATABLE"),
        ("unix_timestamp()", "NOT_REPEATABLE"),
        ("count(*)", "BAD_OPTION"),
        ("row_number() OVER (ORDER BY n)", "BAD_OPTION"),
        ("explode(array(1, 2))", "BAD_OPTION"),
    ],
)
def test_a_wrong_expression_is_told_at_open(make: Make, sql: str, code: str) -> None:
    with pytest.raises(Exception, match="mph") as raised:
        make(mph=Expression(sql)).open(None)
    assert getattr(raised.value, "code", None) == code


def test_an_expression_that_fails_on_a_row_is_told_when_it_is_read(make: Make) -> None:
    generator = make(mph=Expression("10 / (n - 5)"))
    generator.open(None)
    assert len(rows(generator, 0, 5)) == 5
    with pytest.raises(SourceError) as raised:
        rows(generator, 0, 6)
    assert raised.value.code == "SOURCE_FAILED"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"rate": 0}, BadOptionError),
        ({"profile": "square"}, BadOptionError),
        ({"bias": 0.3}, BadOptionError),
        ({"burst_every": timedelta(seconds=1), "burst_length": timedelta(2)}, BadOptionError),
        ({"start": "soon"}, BadOptionError),
        ({"rows": -1}, BadOptionError),
        ({"ratee": 5}, UnknownOptionError),
    ],
)
def test_wrong_options_are_told_without_spark(
    options: dict[str, Option], error: type[Exception]
) -> None:
    with pytest.raises(error):
        Generator.check(defined(COLUMNS | options))


def test_a_column_without_an_expression_is_told_without_spark() -> None:
    with pytest.raises(BadOptionError, match="mph"):
        Generator.check(defined({"id": "a"}))
