import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.engine.connectors.sinks import SINKS, build, check
from penstock.engine.sinks.callback import CallbackSink
from penstock.engine.sinks.console import OPTIONS as CONSOLE_OPTIONS
from penstock.engine.sinks.console import ConsoleSink
from penstock.engine.sinks.files import OPTIONS as FILES_OPTIONS
from penstock.engine.sinks.memory import MemorySink
from penstock.engine.sinks.sink import Delivery, Sink
from penstock.errors import (
    BadOptionError,
    PenstockError,
    UnknownConnectorError,
    UnknownOptionError,
)
from penstock.model.definitions import Connector, Option, QueryDefinition

ROWS = pa.table({"car": ["a", 'b"\n', None], "mph": [1.5, None, 3.0], "tags": [["x"], [], None]})
FLAT_ROWS = ROWS.select(["car", "mph"])
Look = Callable[[], Any]  # returns all that a sink has brought to its place


def query(name: str, **options: Option) -> QueryDefinition:
    sink = Connector(name, tuple(options.items()))
    return QueryDefinition("left_turns", "SELECT * FROM traffic", sink=sink)


def console(kind: str) -> Callable[[Path], tuple[Sink, Look]]:
    def make(_: Path) -> tuple[Sink, Look]:
        out = io.StringIO()
        return ConsoleSink(query("console", format=kind), out=out), out.getvalue

    return make


def files(**options: Option) -> Callable[[Path], tuple[Sink, Look]]:
    def make(directory: Path) -> tuple[Sink, Look]:
        path = directory / "out"
        sink = build(query("files", path=str(path), **options))
        assert sink is not None
        return sink, lambda: {part.name: part.read_bytes() for part in sorted(path.iterdir())}

    return make


def callback(_: Path) -> tuple[Sink, Look]:
    calls: list[tuple[int, Any]] = []
    sink = CallbackSink(lambda rows, number: calls.append((number, rows.to_pylist())))
    return sink, lambda: list(calls)


def memory(_: Path) -> tuple[Sink, Look]:
    sink = MemorySink()
    return sink, lambda: {n: rows.to_pylist() for n, rows in sink.deliveries.items()}


KINDS: dict[str, Callable[[Path], tuple[Sink, Look]]] = {
    "console table": console("table"),
    "console json": console("json"),
    "console csv": console("csv"),
    "files json": files(),
    "files csv": files(format="csv", header=False),
    "files parquet": files(format="parquet"),
    "callback": callback,
    "memory": memory,
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Callable[[Path], tuple[Sink, Look]]:
    return KINDS[request.param]


@pytest.fixture
def made(kind: Callable[[Path], tuple[Sink, Look]], tmp_path: Path) -> tuple[Sink, Look]:
    return kind(tmp_path)


def test_every_sink_that_sql_can_name_and_that_needs_no_server_is_tested_here() -> None:
    here = {name.split()[0] for name in KINDS} - {"callback", "memory"}
    assert set(SINKS) == here | {name for name, kind in SINKS.items() if kind.modules}


def test_rows_reach_their_place(made: tuple[Sink, Look]) -> None:
    sink, look = made
    sink.open()
    before = look()
    sink.write(Delivery("left_turns", 1, ROWS))
    assert look() != before
    sink.close()


def test_a_delivery_without_rows_is_taken(made: tuple[Sink, Look]) -> None:
    sink, _ = made
    sink.open()
    sink.write(Delivery("left_turns", 1, ROWS.slice(0, 0)))
    sink.write(Delivery("left_turns", 2, ROWS))
    sink.close()


def test_a_repeatable_sink_shows_no_sign_of_a_repetition(made: tuple[Sink, Look]) -> None:
    sink, look = made
    sink.open()
    for number in (1, 2, 3):
        sink.write(Delivery("left_turns", number, ROWS.slice(0, number)))
    once = look()
    for number in (2, 3):
        sink.write(Delivery("left_turns", number, ROWS.slice(0, number)))
    assert (look() == once) == sink.repeatable
    sink.close()


def test_a_repetition_by_another_process_is_the_same(
    kind: Callable[[Path], tuple[Sink, Look]], tmp_path: Path
) -> None:
    looks = []
    for _ in range(2):
        sink, look = kind(tmp_path)
        sink.open()
        sink.write(Delivery("left_turns", 1, ROWS))
        looks.append(look())
        sink.close()
    assert looks[0] == looks[1]


def test_how_rows_were_cut_into_batches_does_not_show(
    kind: Callable[[Path], tuple[Sink, Look]], tmp_path: Path
) -> None:
    cut = pa.concat_tables([ROWS.slice(0, 1), ROWS.slice(1, 0), ROWS.slice(1)])
    looks = []
    for name, rows in (("whole", ROWS), ("cut", cut)):
        sink, look = kind(tmp_path / name)
        sink.open()
        sink.write(Delivery("left_turns", 1, rows))
        looks.append(look())
        sink.close()
    assert looks[0] == looks[1]


def test_a_sink_opens_again_after_closing(made: tuple[Sink, Look]) -> None:
    sink, _ = made
    sink.open()
    sink.close()
    sink.open()
    sink.write(Delivery("left_turns", 1, FLAT_ROWS))
    sink.close()
    sink.close()


@pytest.mark.parametrize(
    ("definition", "error"),
    [
        (query("file", path="out"), UnknownConnectorError),
        (query("pulsar"), UnknownConnectorError),
        (query("console", formt="json"), UnknownOptionError),
        (query("console", format="xml"), BadOptionError),
        (query("console", format=1), BadOptionError),
        (query("files"), BadOptionError),
        (query("files", path=""), BadOptionError),
        (query("files", path=7), BadOptionError),
        (query("files", path="s3a://bucket/out"), BadOptionError),
        (query("files", path="hdfs:/out"), BadOptionError),
        (query("files", path="out", format="orc"), BadOptionError),
        (query("files", path="out", format="csv", header="yes"), BadOptionError),
        (query("files", path="out", format="json", header=True), BadOptionError),
        (query("files", path="out", pth="x"), UnknownOptionError),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_opened(
    definition: QueryDefinition, error: type[PenstockError]
) -> None:
    with pytest.raises(error) as caught:
        check(definition)
    assert caught.value.code == error.code
    with pytest.raises(error):
        build(definition)


@pytest.mark.parametrize(
    "definition",
    [
        query("console"),
        query("console", format="CSV"),
        query("files", path="out"),
        query("files", path="file:///tmp/out", format="parquet"),
        query("files", path="out", format="csv", header=False),
        QueryDefinition("left_turns", "SELECT 1"),
    ],
)
def test_checking_is_content_and_opens_nothing(
    definition: QueryDefinition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check(definition)
    build(definition)
    assert list(tmp_path.iterdir()) == []


def test_a_near_miss_is_hinted_at() -> None:
    with pytest.raises(UnknownConnectorError) as caught:
        check(query("consol"))
    assert "console" in caught.value.hint


def test_a_query_without_into_has_no_sink() -> None:
    assert build(QueryDefinition("left_turns", "SELECT 1")) is None


@pytest.mark.parametrize("word", [*SINKS, *CONSOLE_OPTIONS, *FILES_OPTIONS])
def test_the_reference_names_every_sink_and_option(word: str) -> None:
    reference = Path(__file__).parents[2] / "docs" / "reference" / "sinks.md"
    assert f"`{word}`" in reference.read_text()
