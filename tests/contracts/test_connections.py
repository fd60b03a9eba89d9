"""One suite over every way to a Penstock: in this process, over HTTP, and over HTTP with await.

What is asked in SQL alone is asked over PostgreSQL's protocol as well.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.errors import PenstockError
from penstock.runtime.durable.result_row import START, Position, ResultRow
from penstock.runtime.statements.result import Result
from tests.contracts.postgres import PostgresConnection
from tests.e2e.server.served import served

pytestmark = pytest.mark.spark
PATIENCE = 60.0
KINDS = ("embedded", "http", "awaited")
# Of what is decided before anything waits, one of the two over HTTP tells all.
BLOCKING = pytest.mark.parametrize("kind", KINDS[:2], indirect=True)
# Embedded is the oracle of these.
OVER_HTTP = pytest.mark.parametrize("kind", ["http"], indirect=True)
BY_SQL = pytest.mark.parametrize("kind", ["http", "postgres"], indirect=True)
COLUMNS = "ts TIMESTAMP, id STRING, n INT, x DOUBLE, cost DECIMAL(10, 2), day DATE, tags ARRAY<INT>"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = [
    {
        "ts": BEGIN + timedelta(seconds=n),
        "id": f"car\u2028{n}",
        "n": n,
        "x": n / 3,
        "cost": Decimal(n) / 4,
        "day": date(2026, 1, 1 + n),
        "tags": [n, n + 1],
    }
    for n in range(3)
]


class Subscribed(Protocol):
    """What a subscription of any kind does."""

    @property
    def position(self) -> Position: ...
    @property
    def ended(self) -> bool: ...
    def next(self, timeout: float | None = None) -> ResultRow | None: ...
    def close(self) -> None: ...


class Asked(Protocol):
    """What everybody does who takes SQL."""

    def sql(self, text: str) -> Result: ...
    def script(self, text: str) -> list[Result]: ...
    def close(self) -> None: ...


class Connected(Asked, Protocol):
    """What a connection of any kind does."""

    def push(self, stream: str, rows: object) -> int: ...
    def push_once(self, stream: str, rows: object, key: str) -> int: ...
    def end(self, stream: str) -> None: ...
    def punctuate(self, stream: str, condition: str) -> None: ...
    def subscribe(self, query: str, *, after: Position | None = START) -> Subscribed: ...
    def wait(self, timeout: float | None = None) -> bool: ...


class Loop:
    """A loop in a thread of its own, in which others have things done."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Awaiting:
    """Calls what is to be awaited, and awaits it: of a connection, or of a subscription."""

    def __init__(self, loop: Loop, of: Any) -> None:
        self._loop, self._of = loop, of

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._of, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            given = self._loop.do(found(*args, **kwargs))
            return Awaiting(self._loop, given) if name == "subscribe" else given

        return call


@pytest.fixture(scope="module")
def ways(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Callable[[], Connected]]]:
    """Give what opens each kind of connection."""
    home, loop = tmp_path_factory.mktemp("connections"), Loop()
    with (
        penstock.connect(home / "embedded", spark=spark) as embedded,
        served(home / "served", spark, {"pg_port": 0}) as server,
    ):

        def awaited() -> Connected:
            made: Connected = Awaiting(loop, loop.do(penstock.connect_async(server.url)))
            return made

        yield {
            "embedded": lambda: embedded,
            "http": lambda: penstock.connect(server.url, token=None),
            "awaited": awaited,
            "postgres": lambda: PostgresConnection(server.pg),
        }
    loop.stop()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ps(kind: str, ways: dict[str, Callable[[], Connected]]) -> Iterator[Connected]:
    made = ways[kind]()
    yield made
    if kind != "embedded":
        made.close()


@pytest.fixture
def embedded(ways: dict[str, Callable[[], Connected]]) -> Connected:
    return ways["embedded"]()


@pytest.fixture
def name(request: pytest.FixtureRequest, kind: str) -> str:
    """Give names of the test's own: the ways of HTTP share one server."""
    return f"{request.node.originalname.removeprefix('test_')[:30]}_{kind}"


def stream_of(ps: Connected, name: str) -> tuple[str, str]:
    """Create a stream and a query over it, and return their names."""
    stream, query = f"s_{name}", f"q_{name}"
    ps.script(
        f"CREATE STREAM {stream} ({COLUMNS}) TIMESTAMP BY ts FROM push();"
        f"CREATE QUERY {query} AS SELECT * FROM {stream};"
    )
    return stream, query


def rows_of(subscription: Subscribed, count: int) -> list[dict[str, Any]]:
    rows = [subscription.next(PATIENCE) for _ in range(count)]
    return [dict(row) for row in rows if row is not None]


def test_rows_come_as_they_were_pushed(ps: Connected, name: str) -> None:
    stream, query = stream_of(ps, name)
    ps.push(stream, ROWS)
    subscription = ps.subscribe(query)
    assert rows_of(subscription, len(ROWS)) == ROWS
    subscription.close()


@BLOCKING
@pytest.mark.parametrize(
    ("form", "given"),
    [
        ("one", ROWS[0]),
        ("columns", {"n": [0, 1], "id": ["a", "b"], "ts": [BEGIN, BEGIN]}),
        ("arrow", pa.table({"n": [0], "ts": [BEGIN]})),
        ("batch", pa.record_batch({"n": [0], "ts": [BEGIN]})),
        ("pandas", pd.DataFrame({"n": [0, 1], "ts": [BEGIN, BEGIN]})),
    ],
)
def test_rows_may_have_many_forms(ps: Connected, name: str, form: str, given: object) -> None:
    stream, query = stream_of(ps, f"{name}_{form}")
    ps.push(stream, given)
    subscription = ps.subscribe(query)
    assert rows_of(subscription, 1)[0]["n"] == 0
    subscription.close()


@BY_SQL
@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 AS a, 'x' AS b, CAST(1.5 AS DECIMAL(5, 2)) AS c, true AS d, NULL AS e",
        "SELECT array(1, 2) AS a, named_struct('p', 1, 'q', 'x') AS b",
        "SELECT TIMESTAMP '2026-01-02 03:04:05.678901' AS a, DATE '2026-01-02' AS b, X'00ff' AS c",
        "SELECT double('NaN') AS a, double('-Infinity') AS b, float(0.1) AS c",
        "SELECT INTERVAL '1 02:03:04.5' DAY TO SECOND AS a",
        "SELECT 1 AS a WHERE false",
        "SELECT 7 / 2 AS a, 'x' AS b, -1 AS c",
        "SHOW TYPES; SELECT 1 AS a, DATE '2026-01-02' AS b, CAST(2.50 AS DECIMAL(5, 2))",
    ],
)
def test_results_are_those_of_an_embedded_connection(
    ps: Asked, embedded: Connected, text: str
) -> None:
    require_same(ps.script(text), embedded.script(text))


@OVER_HTTP
def test_maps_are_those_of_an_embedded_connection(ps: Connected, embedded: Connected) -> None:
    text = "SELECT map('k', 1L) AS c"  # json where PostgreSQL's protocol is spoken
    require_same(ps.script(text), embedded.script(text))


def require_same(found: list[Result], expected: list[Result]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.message == other.message
        assert (one.table is None) == (other.table is None)
        if one.table is not None and other.table is not None:
            assert one.table.column_names == other.table.column_names
            assert str(one.table.to_pylist()) == str(other.table.to_pylist())


@BY_SQL
@pytest.mark.parametrize(
    "text",
    [
        "SELEC 1",
        "SELECT 1;\nSELECT ,",
        "SELECT * FROM nowhere",
        "CREATE QUERY q AS SELECT nothing FROM nowhere",
        "SELECT 1 / 0 AS x",
        "SELECT 1 / 0 AS x, assert_true(false)",
        "DROP STREAM nowhere",
    ],
)
def test_statements_fail_as_those_of_an_embedded_connection(
    ps: Asked, embedded: Connected, text: str
) -> None:
    require_same_error(lambda: ps.sql(text), lambda: embedded.sql(text))


@OVER_HTTP
@pytest.mark.parametrize(
    "fails",
    [
        lambda ps: ps.sql("SHOW NOTHING"),  # a setting, where PostgreSQL's protocol is spoken
        lambda ps: ps.sql(None),
        lambda ps: ps.push("nowhere", [{"n": 1}]),
        lambda ps: ps.push(7, [{"n": 1}]),
        lambda ps: ps.end("nowhere"),
        lambda ps: ps.subscribe("nowhere"),
        lambda ps: ps.subscribe("q", after="x"),
        lambda ps: ps.wait("x"),
        lambda ps: ps.punctuate("nowhere", "n = 1"),
    ],
)
def test_calls_fail_as_those_of_an_embedded_connection(
    ps: Connected, embedded: Connected, fails: Callable[[Connected], object]
) -> None:
    require_same_error(lambda: fails(ps), lambda: fails(embedded))


def require_same_error(one: Callable[[], object], other: Callable[[], object]) -> None:
    with pytest.raises(PenstockError) as expected:
        other()
    with pytest.raises(PenstockError) as found:
        one()
    assert type(found.value) is type(expected.value)
    assert found.value.code == expected.value.code
    assert found.value.place == expected.value.place


@BLOCKING
@pytest.mark.parametrize(
    "row", [{"n": "x"}, {"nothing": 1}, {"n": 2**40}, {"tags": [None, "x"]}, 7]
)
def test_a_row_that_does_not_fit_is_told_and_nothing_is_taken(
    ps: Connected, name: str, row: object
) -> None:
    stream, query = f"s_{name}", f"q_{name}"
    ps.sql(f"CREATE STREAM IF NOT EXISTS {stream} ({COLUMNS}) FROM push()")
    ps.sql(f"CREATE QUERY IF NOT EXISTS {query} AS SELECT n FROM {stream}")
    with pytest.raises(PenstockError) as raised:
        ps.push(stream, [{"n": 1}, row])
    assert raised.value.code == "BAD_ROW"
    subscription = ps.subscribe(query)
    assert subscription.next(0.3) is None
    assert not subscription.ended
    subscription.close()


def test_a_reader_resumes_behind_a_position(ps: Connected, name: str) -> None:
    stream, query = stream_of(ps, name)
    ps.push(stream, ROWS)
    first = ps.subscribe(query)
    assert rows_of(first, 2) == ROWS[:2]
    first.close()
    second = ps.subscribe(query, after=first.position)
    assert rows_of(second, 1) == ROWS[2:]
    second.close()


def test_a_reader_may_begin_with_what_comes(ps: Connected, name: str) -> None:
    stream, query = stream_of(ps, name)
    ps.push(stream, ROWS[:1])
    early = ps.subscribe(query)
    assert rows_of(early, 1) == ROWS[:1]
    late = ps.subscribe(query, after=None)
    ps.push(stream, ROWS[1:2])
    assert rows_of(late, 1) == ROWS[1:2]
    for each in (early, late):
        each.close()
        assert each.ended
        assert each.next(0) is None


def test_a_stream_that_ends_ends_its_readers(ps: Connected, name: str) -> None:
    stream, query = stream_of(ps, name)
    subscription = ps.subscribe(query)
    ps.push(stream, ROWS)
    ps.end(stream)
    assert rows_of(subscription, len(ROWS)) == ROWS
    assert subscription.next(PATIENCE) is None
    assert subscription.ended


def test_rows_with_a_key_are_taken_once(ps: Connected, name: str) -> None:
    stream, query = stream_of(ps, name)
    assert ps.push_once(stream, ROWS, "monday") == len(ROWS)
    assert ps.push_once(stream, ROWS, "monday") == 0
    ps.end(stream)
    subscription = ps.subscribe(query)
    assert rows_of(subscription, len(ROWS) + 1) == ROWS


def test_a_promise_closes_the_windows_that_wait_for_it(ps: Connected, name: str) -> None:
    stream, query = f"s_{name}", f"q_{name}"
    ps.script(
        f"CREATE STREAM {stream} ({COLUMNS}) TIMESTAMP BY ts FROM push();"
        f"CREATE QUERY {query} AS SELECT id, count(*) AS c FROM {stream} [RANGE 1 HOUR] GROUP BY id"
    )
    subscription = ps.subscribe(query)
    ps.push(stream, [{"ts": BEGIN, "id": "a"}, {"ts": BEGIN, "id": "b"}])
    ps.punctuate(stream, "id = 'a'")
    assert rows_of(subscription, 1) == [{"id": "a", "c": 1}]
    subscription.close()


def test_waiting_ends_in_time_while_a_source_goes_on(ps: Connected, name: str) -> None:
    stream_of(ps, name)
    assert ps.wait(0.2) is False


def test_a_connection_that_is_closed_says_so(
    kind: str, ways: dict[str, Callable[[], Connected]], spark: SparkSession, tmp_path: Path
) -> None:
    made = ways[kind]() if kind != "embedded" else penstock.connect(tmp_path, spark=spark)
    made.close()
    made.close()
    with pytest.raises(PenstockError) as raised:
        made.sql("SELECT 1")
    assert raised.value.code == "CLOSED"
