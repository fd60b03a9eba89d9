"""Rules that reach outside: webhooks to a server on this machine, and programs."""

import json
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import PenstockError
from tests.e2e.support import rows_of, until
from tests.e2e.test_rules import HOUSE, reading, rooms, rule

pytestmark = pytest.mark.spark


class Server:
    """Answers as `answers` says, then with 200; keeps what it was told.

    Beyond `most` it is told and does not answer before `most` is more.
    """

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.heads: list[dict[str, str]] = []
        self.answers: list[int] = []
        self.always: int | None = None
        self.seconds = 0.0
        self.most = sys.maxsize
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.told.append(json.loads(body))
                server.heads.append(dict(self.headers))
                time.sleep(server.seconds)
                while len(server.told) > server.most:
                    time.sleep(0.01)
                code = server.always or (server.answers.pop(0) if server.answers else 200)
                self.send_response(code)
                self.send_header("Location", "file:///etc/passwd")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/alarm?to=42"
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.most = sys.maxsize
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    allowed: dict[str, Any] = {"commands": [sys.executable], "hosts": ["127.0.0.1"]}
    with penstock.connect(tmp_path / "home", spark=spark, **allowed) as connection:
        connection.script(HOUSE)
        yield connection


def test_a_webhook_is_told_each_tuple_again_with_the_same_key_until_it_takes_it(
    ps: Connection, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALARM_TOKEN", "s3cret")
    server.answers = [500, 302]
    ps.sql(
        f"CREATE RULE hot ON warm WHEN temp > 40 DO webhook(url => '{server.url}', "
        "token_from => 'ALARM_TOKEN') WITH (backoff => INTERVAL 10 MILLISECONDS)"
    )
    ps.push("house", [reading(1, "attic", 50), reading(2, "hall", 30), reading(3, "bath", 45)])
    until(ps, lambda: rule(ps, "hot")["done"] == 2)
    assert [each["rows"][0]["room"] for each in server.told] == ["attic"] * 3 + ["bath"]
    keys = [head["Idempotency-Key"] for head in server.heads]
    assert keys[0] == keys[1] == keys[2] != keys[3]
    assert server.told[0]["key"] == keys[0]
    assert server.heads[0]["Authorization"] == "Bearer s3cret"
    told = rule(ps, "hot")
    assert told["failures"] == 2
    assert "302" in told["cause"]
    assert "alarm" not in told["cause"]
    assert "s3cret" not in told["cause"]


def test_a_webhook_that_is_down_for_long_fills_a_queue_and_then_dead_letters_only(
    ps: Connection, server: Server
) -> None:
    server.always = 500
    ps.sql(
        f"CREATE RULE hot ON warm DO webhook(url => '{server.url}') "
        "WITH (retries => 1, backoff => INTERVAL 10 MILLISECONDS, queue => 5, dead => 8)"
    )
    ps.push("house", [reading(n, f"r{n}", 50) for n in range(20)])

    def tried() -> bool:
        told = rule(ps, "hot")  # once: between two looks it may fire
        return bool(told["fired"] == 20 and told["waiting"] == 0)

    until(ps, tried)
    told = rule(ps, "hot")
    assert told["dead"] <= 8
    assert told["dead"] + told["lost"] == 20
    assert told["held_back"] == 15
    until(ps, lambda: len(rooms(ps, "warm")) == 20)
    left = len(rows_of(ps.sql("SELECT * FROM hot.dead WHERE cause LIKE '%500%'").table))
    assert 0 < left <= 5
    server.always = None
    before = told["done"]
    ps.sql("RETRY RULE hot")
    until(ps, lambda: rule(ps, "hot")["done"] == before + told["dead"])
    assert rule(ps, "hot")["dead"] == 0


def test_a_deferred_webhook_is_told_all_tuples_of_a_train_at_once_and_in_time(
    ps: Connection, server: Server
) -> None:
    server.most = 0
    ps.script(
        f"""
        CREATE RULE hangs COUPLING deferred ON warm DO webhook(url => '{server.url}')
          WITH (timeout => INTERVAL 200 MILLISECONDS, retries => 0);
        CREATE RULE nobody ON warm DO webhook(url => 'http://127.0.0.1:9/x') WITH (retries => 0);
        """
    )
    ps.push("house", [reading(n, f"r{n}", 50) for n in range(3)])
    until(ps, lambda: rule(ps, "nobody")["dead"] == 3)

    def told() -> bool:
        is_dead = rule(ps, "hangs")["dead"] == 3
        if is_dead and not server.told:  # the time was up before it was reached
            ps.sql("RETRY RULE hangs")
        return is_dead and bool(server.told)

    until(ps, told)
    assert {len(each["rows"]) for each in server.told} == {3}
    assert "0.2 s" in rule(ps, "hangs")["cause"] or "in time" in rule(ps, "hangs")["cause"]
    assert "127.0.0.1" in rule(ps, "nobody")["cause"]


def test_a_command_gets_values_as_whole_arguments_and_no_shell_reads_them(
    ps: Connection, tmp_path: Path
) -> None:
    out = tmp_path / "out.txt"
    program = (
        "import json, os, sys\n"
        "with open(sys.argv[1], 'a') as out:\n"
        "    out.write(json.dumps([sys.argv[2:], os.environ.get('PENSTOCK_KEY'),"
        " json.load(sys.stdin)['rows'], sorted(os.environ)]) + chr(10))\n"
    )
    (tmp_path / "note.py").write_text(program)
    ps.sql(
        f"CREATE RULE note ON warm DO command(program => '{sys.executable}', "
        f"args => array('{tmp_path}/note.py', '{out}', room, round(temp))) "
        "WITH (timeout => INTERVAL 100 SECONDS)"
    )
    nasty = "$(touch /tmp/x); rm -rf / `id` \"'\n--help"
    ps.push("house", [reading(1, nasty, 50.4), reading(2, "hall", 30)])
    until(ps, lambda: rule(ps, "note")["done"] == 2)
    first, second = [json.loads(line) for line in out.read_text().splitlines()]
    assert first[0] == [nasty, "50.0"]
    assert first[2][0]["room"] == nasty
    assert second[0] == ["hall", "30.0"]
    assert first[1] != second[1]
    assert "JAVA_HOME" not in first[3]


def test_a_command_that_fails_or_hangs_is_told_and_one_that_is_not_allowed_any_more_not_started(
    ps: Connection, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    (home / "commands").write_text("/bin/sleep\n/bin/false\n")
    ps.sql(
        "CREATE RULE sleeps ON warm DO command(program => '/bin/sleep', args => array('900')) "
        "WITH (retries => 0, timeout => INTERVAL 200 MILLISECONDS)"
    )
    ps.sql(
        "CREATE RULE fails ON warm DO command(program => '/bin/false') "
        "WITH (retries => 0, timeout => INTERVAL 100 SECONDS)"
    )
    ps.push("house", [reading(1, "attic", 50)])
    until(ps, lambda: rule(ps, "sleeps")["dead"] == 1 and rule(ps, "fails")["dead"] == 1)
    assert "longer than" in rule(ps, "sleeps")["cause"]
    assert "ended with 1" in rule(ps, "fails")["cause"]
    (home / "commands").unlink()
    ps.sql("RETRY RULE fails")
    until(ps, lambda: "may start" in rule(ps, "fails")["cause"])
    with pytest.raises(PenstockError) as refused:
        ps.sql("CREATE RULE again ON warm DO command(program => '/bin/false')")
    assert refused.value.code == "NOT_ALLOWED"
