"""Answers and events of a real server: once each behind their cursor or id, whoever dies."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.engine.interfaces.interface import Boundary, Interface
from penstock.engine.interfaces.received.received import Received
from penstock.errors import BadOptionError, NotAllowedError, PenstockError, SourceError
from penstock.model.definitions import Option, Secret
from penstock.model.schema import Column, Schema
from tests.contracts.source_laws import (
    FRESH_SOURCE_LAWS,
    ROWS,
    SOURCE_LAWS,
    Case,
    Source,
    connector,
    drained_of,
    source_of,
)
from tests.engine.http.places import LOOPBACK, TEXTS, closed
from tests.engine.mqtt.places import until
from tests.examples import IS_WHOLE
from tests.servers.web import TOKEN, WebServer, running_web
from tests.unit.model.arrow_twin import arrow_without_spark

ROOT = Path(__file__).parents[3]
KILLS = 30 if IS_WHOLE else 2
SOON = timedelta(milliseconds=20)
CURSOR: dict[str, Option] = {"rows": "data.items", "cursor": "next", "cursor_param": "since"}
JSON_ROWS = [{**row, "ts": f"{row['ts']:%FT%TZ}"} for row in ROWS]  # as Arrow reads it


@pytest.fixture
def web() -> Iterator[WebServer]:
    with arrow_without_spark(), running_web() as server:
        yield server


def http_options(web: WebServer) -> dict[str, Option]:
    return {"url": web.url("rows"), "every": SOON, **CURSOR}


def sse_options(web: WebServer) -> dict[str, Option]:
    return {"url": web.url("events")}


KINDS: dict[str, Callable[[WebServer], dict[str, Option]]] = {
    "http": http_options,
    "sse": sse_options,
}
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def case(kind: str, web: WebServer) -> Case:
    def feed(interface: Interface) -> None:
        assert isinstance(interface, Received)
        for at in range(0, 12, 3):
            web.rows += JSON_ROWS[at : at + 3]
            until(lambda at=at: interface._log.rows == at + 3)

    return Case(
        lambda _: connector(kind, rows_per_train=3, **KINDS[kind](web)),
        feed,
        ends=False,
        allowed=LOOPBACK,
    )


@pytest.mark.spark
@each_kind
def test_it_keeps_the_laws_of_what_was_drained(
    case: Case, tmp_path: Path, spark: SparkSession
) -> None:
    drained = drained_of(source_of(case, tmp_path, spark), spark)
    for law in SOURCE_LAWS:
        law(drained)


@pytest.mark.spark
@each_kind
@pytest.mark.parametrize("law", FRESH_SOURCE_LAWS, ids=lambda law: law.__name__)
def test_a_fresh_source_keeps(
    law: Callable[[Source], None], case: Case, tmp_path: Path, spark: SparkSession
) -> None:
    law(source_of(case, tmp_path, spark))


def texts(home: Path, kind: str, web: WebServer, **more: Option) -> Received:
    """Return a source of texts, which needs no Spark; of http these are lines."""
    options = KINDS[kind](web) if kind == "sse" else {"url": web.url("lines"), "every": SOON}
    return closed(home, kind, TEXTS, **(options | {"format": "text"} | more))


def taken(
    source: Received, rows: int, rejects: int = 0, *, patient: bool = True
) -> tuple[list[Any], list[Any]]:
    """Read until there are so many; one who is `patient` waits for a source that fails."""
    found: list[Any] = []
    wrong: list[Any] = []

    def enough() -> bool:
        try:
            offer = source.next()
        except SourceError:
            if not patient:
                raise
            return False
        if offer is not None:
            ingest = source.read(offer.boundary)
            found.extend(ingest.rows.to_pylist())  # type: ignore[union-attr]
            wrong.extend(ingest.rejects.to_pylist() if ingest.rejects else [])
        return len(found) >= rows and len(wrong) >= rejects

    until(enough)
    return found, wrong


def failure(source: Received) -> str:
    """Return why a source cannot be asked, once it cannot."""
    until(lambda: source._failure is not None)
    with pytest.raises(PenstockError) as told:
        taken(source, sys.maxsize, patient=False)
    return str(told.value)


@each_kind
def test_a_server_that_goes_and_comes_back_gives_every_row_once(
    kind: str, web: WebServer, tmp_path: Path
) -> None:
    web.most_events = 2
    options = KINDS[kind](web) | {"format": "json"}
    log = closed(tmp_path / "home", kind, TEXTS, **options)
    log._reader.open = lambda: None  # type: ignore[method-assign]  # what came is looked at below
    log.open(None)
    for number in range(1, 7):
        web.rows.append({"n": number})
        until(lambda number=number: log._log.rows == number)
        if number % 3 == 0:
            web.stop()
            until(lambda: log._failure is not None)
            web.start()
    kept: list[Any] = []
    while (offer := log._log.next()) is not None:
        kept += log._log.read(offer.boundary).rows.to_pylist()  # type: ignore[union-attr]
    log.close()
    assert [json.loads(each["payload"]) for each in kept] == web.rows


@each_kind
@pytest.mark.parametrize("path", ["nowhere", "moved", "status"])
def test_answers_that_are_none_are_told_and_a_redirect_leads_nowhere(
    kind: str, path: str, web: WebServer, tmp_path: Path
) -> None:
    web.status = {"nowhere": 404, "moved": 200, "status": 503}[path]
    source = texts(tmp_path / "home", kind, web, url=web.url("moved?x=whose"))
    source.open(None)
    told = failure(source)
    assert {"nowhere": "404", "moved": "302", "status": "503"}[path] in told
    assert "whose" not in told
    assert not any(asked.startswith("/rows") for asked in web.asked)
    source.close()


@each_kind
def test_a_server_that_is_not_there_or_not_allowed_is_told(
    kind: str, web: WebServer, tmp_path: Path
) -> None:
    source = texts(tmp_path / "home", kind, web, url="http://127.0.0.1:1/x")
    source.open(None)
    assert "http://127.0.0.1:1" in failure(source)
    source.close()
    with pytest.raises(NotAllowedError):
        texts(tmp_path / "home", kind, web, url="http://192.0.2.1/x").open(None)


def test_a_token_goes_along_and_is_never_told(
    web: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_SECRET_WEB", "wrong")
    options: dict[str, Option] = {
        "url": web.url("secret"),
        "token": Secret("WEB"),
        "format": "text",
    }
    source = closed(tmp_path / "home", "http", TEXTS, **options, every=SOON)
    source.open(None)
    assert "401" in failure(source)
    monkeypatch.setenv("PENSTOCK_SECRET_WEB", TOKEN)  # looked up anew at each try
    (row, *_), _ = taken(source, 1)
    assert "data" in row["said"]
    source.close()


def test_an_answer_is_rows_once_until_it_is_another(web: WebServer, tmp_path: Path) -> None:
    web.rows += JSON_ROWS[:2]
    lines = texts(tmp_path / "lines", "http", web)
    lines.open(None)
    assert taken(lines, 2)[0] == [{"said": "30"}, {"said": "31"}]
    asked = len(web.asked)
    until(lambda: len(web.asked) > asked + 3)
    assert lines.next() is None
    web.rows.append(JSON_ROWS[2])
    assert len(taken(lines, 3)[0]) == 3  # all of it: nothing says which are new
    lines.close()


def test_an_etag_saves_the_same_answer_over_restarts(web: WebServer, tmp_path: Path) -> None:
    web.rows += JSON_ROWS[:2]
    schema = Schema((Column("said", "binary"),))
    options: dict[str, Option] = {"url": web.url("all"), "every": SOON, "format": "bytes"}

    def look() -> int:
        source = closed(tmp_path / "home", "http", schema, **options)
        source.open(None)
        until(lambda: source._log.rows > 0)
        asked = len(web.asked)
        until(lambda: len(web.asked) > asked + 2)
        source.close()
        source.open(None)
        rows = source._log.rows
        source.close()
        return rows

    assert look() == look() == 1


@pytest.mark.parametrize(
    ("path", "more", "words"),
    [
        ("stuck", {"rows": "items", "cursor": "next", "cursor_param": "since"}, "cursor"),
        ("rows", {"rows": "data.items", "row_cursor": "id", "cursor_param": "since"}, "cursor"),
        ("rows", {"rows": "data.nothing"}, "data.nothing"),
        ("nonsense", {}, "no JSON"),
    ],
)
def test_an_answer_that_cannot_be_gone_on_from_is_told(
    path: str, more: dict[str, Option], words: str, web: WebServer, tmp_path: Path
) -> None:
    web.rows.append({"n": 1})
    source = closed(tmp_path / "home", "http", TEXTS, url=web.url(path), every=SOON, **more)
    source._reader.open = lambda: None  # type: ignore[method-assign]  # nothing is read here
    source.open(None)
    assert words in failure(source)
    assert source._log.rows <= 1
    source.close()


def test_the_columns_beside_an_event_and_a_gap_where_there_are_no_ids(
    web: WebServer, tmp_path: Path
) -> None:
    schema = Schema(tuple(Column(name, "string") for name in ("said", "kind", "id")))
    options: dict[str, Option] = {"format": "text", "event_column": "kind", "id_column": "id"}
    web.rows.append({"n": 1})
    source = closed(tmp_path / "home", "sse", schema, url=web.url("events"), **options)
    source.open(None)
    assert taken(source, 1)[0] == [{"said": '{\n "n": 1\n}', "kind": "reading", "id": "1"}]
    source.close()
    web.ids = False
    other = closed(tmp_path / "other", "sse", schema, url=web.url("events"), **options)
    other.open(None)
    until(lambda: bool(web.asked) and other._failure is None)
    time_of = len(web.asked)
    until(lambda: len(web.asked) >= time_of)
    stop = threading.Event()

    def write() -> None:
        while not stop.wait(0.01):
            web.rows.append({"n": len(web.rows)})

    writer = threading.Thread(target=write)
    writer.start()
    try:
        first, _ = taken(other, 1)
        web.stop()
        until(lambda: other._failure is not None)
        web.start()
        _, gaps = taken(other, 0, 1)
    finally:
        stop.set()
        writer.join()
        other.close()
    assert first[0]["id"] is None
    assert gaps[0]["kind"] == "gap"


@each_kind
@pytest.mark.timeout(1800)  # with thirty lives
def test_a_reader_that_is_killed_again_and_again_has_every_row_once(
    kind: str, web: WebServer, tmp_path: Path
) -> None:
    home, stop = tmp_path / "home", threading.Event()
    web.page = 200

    def write() -> None:
        while not stop.wait(0.001):
            web.rows.append({"n": len(web.rows)})

    writer = threading.Thread(target=write)
    writer.start()
    options: dict[str, str] = {"url": web.url("rows" if kind == "http" else "events")}
    options |= {"format": "json", **CURSOR} if kind == "http" else {"format": "text"}
    try:
        for life in range(KILLS):
            told = [part for pair in options.items() for part in map(str, pair)]
            reader = subprocess.Popen(
                [sys.executable, "-m", "tests.engine.http.places", str(home), kind, *told],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
                stdout=subprocess.PIPE,
            )
            assert reader.stdout is not None
            with reader.stdout as said:
                assert said.readline() == b"came\n"
                time.sleep(0.017 * (life % 7))
                reader.kill()
                reader.wait()
    finally:
        stop.set()
        writer.join()
    source = closed(home, kind, TEXTS, **options)
    source._reader.open = lambda: None  # type: ignore[method-assign]  # the log is looked at
    source.open(None)
    until(lambda: source._log.rows >= len(web.rows))
    kept: list[Any] = []
    while (offer := source._log.next()) is not None:
        kept += source._log.read(offer.boundary).rows.to_pylist()  # type: ignore[union-attr]
    source.close()
    assert [json.loads(each["payload"])["n"] for each in kept] == list(range(len(web.rows)))
    assert [each["number"] for each in kept] == list(range(1, len(kept) + 1))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("http", {}),
        ("http", {"url": "ftp://a/b"}),
        ("http", {"url": "http://me:pw@a/b"}),
        ("http", {"url": "http://a/b?api_key=1"}),
        ("http", {"url": "http://a", "cursor": "x"}),
        ("http", {"url": "http://a", "cursor_param": "x"}),
        ("http", {"url": "http://a", "cursor": "x", "row_cursor": "y", "cursor_param": "z"}),
        ("http", {"url": "http://a", "format": "text", "rows": "x"}),
        ("http", {"url": "http://a", "token": "plain"}),
        ("sse", {"url": "http://a", "id_column": "said", "format": "text"}),
        ("sse", {"url": "nothing"}),
    ],
)
def test_bad_options_are_told_before_anything_is_opened(
    kind: str, options: dict[str, Option], tmp_path: Path
) -> None:
    with arrow_without_spark(), pytest.raises(BadOptionError):
        closed(tmp_path / "home", kind, TEXTS, **options)


def test_boundaries_of_a_log_are_those_of_pushed_rows(web: WebServer, tmp_path: Path) -> None:
    web.rows += JSON_ROWS[:2]
    source = texts(tmp_path / "home", "http", web)
    source.open(None)
    until(lambda: source._log.rows == 2)
    offer = source.next()
    assert offer is not None
    boundary: Boundary = offer.boundary
    assert set(boundary) == {"segment", "from", "to"}
    source.close()
