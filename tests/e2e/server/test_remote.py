"""Clients over the restart of their server, and the command line against one."""

import io
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.cli.main import main
from penstock.server.configuration import resolved
from penstock.server.opening import settings_of
from penstock.server.serve import Listeners
from penstock.server.service import Service
from tests.e2e.server.served import Served, served
from tests.e2e.support import until

pytestmark = pytest.mark.spark
ROWS = 150
PATIENCE = 120.0


@contextmanager
def serving(home: Path, spark: SparkSession, port: int) -> Iterator[None]:
    """Serve a home on a port of the test's own, so that it can be served there again."""
    configuration = resolved({"home": str(home), "http.port": str(port)}, {})
    service = Service(configuration)
    listeners = Listeners(service)
    listeners.start()
    with penstock.connect(home, spark=spark, settings=settings_of(configuration)) as connection:
        service.open(connection)
        yield
        service.stop()
        listeners.stop()
    service.close()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_clients_go_on_over_a_restart_without_a_gap_or_a_double(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.remote.patience.MOST_SECONDS", 0.2)  # a restart takes no longer
    port, home, found = free_port(), tmp_path / "home", list[int]()
    url = f"http://127.0.0.1:{port}"

    def push() -> None:
        with penstock.connect(url, token=None, patience=PATIENCE) as mine:
            for number in range(ROWS):
                mine.push("s", [{"n": number}])

    def follow() -> None:
        with (
            penstock.connect(url, token=None, patience=PATIENCE) as mine,
            mine.subscribe("q", max_rows=5) as subscription,
        ):
            found.extend(row["n"] for row in subscription)

    threads = [threading.Thread(target=each, daemon=True) for each in (push, follow)]
    with serving(home, spark, port):
        with penstock.connect(url, token=None) as ps:
            ps.script("CREATE STREAM s (n INT) FROM push(); CREATE QUERY q AS SELECT n FROM s")
        for thread in threads:
            thread.start()
        until(lambda: f"{len(found)} rows", lambda: len(found) > ROWS // 5)
    assert threads[0].is_alive()
    with serving(home, spark, port):
        threads[0].join(PATIENCE)
        with penstock.connect(url, token=None, patience=PATIENCE) as ps:
            ps.end("s")
        threads[1].join(PATIENCE)
        assert found == list(range(ROWS))


@pytest.fixture(scope="module")
def server(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("command") / "home", spark) as made:
        yield made


def test_a_server_runs_a_script_and_its_rows_are_printed(
    server: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.sql"
    script.write_text(
        "CREATE STREAM g (ts TIMESTAMP, v INT) TIMESTAMP BY ts\n"
        "  FROM generator(rate => 10, rows => 30, paced => false, v => CAST(n AS INT));\n"
        "CREATE QUERY tens AS SELECT v FROM g WHERE v % 10 = 0;\n"
        "SELECT 1 AS one;\n"
    )
    words = ["run", str(script), "--url", server.url, "--until-idle", "--format", "json"]
    assert main(words) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == '{"statement": "SELECT 1 AS one", "row": {"one":1}}'
    assert len(printed) == 4
    assert all(line.startswith('{"query": "tens", "row": {"v":') for line in printed[1:])


def test_the_shell_over_a_server_tells_errors_as_that_over_a_home_does(
    server: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = b"SELECT 2 AS two;\nSELEC 1;\n.watch nothing\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed)))
    assert main(["sql", "--url", server.url, "--format", "csv"]) != 0
    shown = capsys.readouterr()
    assert shown.out == "two\n2\n"
    assert "SQL_SYNTAX" in shown.err
    assert "UNKNOWN_NAME" in shown.err


@pytest.mark.parametrize(
    "words",
    [["--home", "x"], ["--master", "local"], ["--writable", "x"], ["--url", "http://127.0.0.1:1"]],
)
def test_what_cannot_be_asked_of_a_server_is_told(
    server: Served, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr("penstock.cli.remote.arguments.FIRST_SECONDS", 0.1)
    assert main(["sql", "--url", server.url, *words]) != 0
