"""`penstock serve` as a process: killed under pushes and subscribers, stopped, started again."""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.e2e.server.served import PATIENCE, events, sql

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[3]
SCRIPT = """
CREATE STREAM s (client INT, n INT) FROM push();
CREATE QUERY q AS SELECT client, n FROM s WHERE n >= 0;
"""
CLIENTS, PUSHES, ROWS = 5, 40, 3


class Process:
    """A server in a process group of its own, Java and all."""

    def __init__(self, place: Path) -> None:
        self._place, self.port, self.url = place, 0, ""
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return once it is ready; on the port that it had before."""
        with (self._place / "said.txt").open("w+") as out:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "penstock", "serve", "--log-level", "warning"),
                    *("--home", str(self._place / "home"), "--port", str(self.port)),
                    *("--master", "local[2]"),
                ],
                stderr=out,
                cwd=self._place,
                env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
                start_new_session=True,
            )
        deadline = time.monotonic() + PATIENCE
        while "\nready\n" not in (said := (self._place / "said.txt").read_text()):
            assert self._process.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.05)
        self.url = next(line.split()[-1] for line in said.splitlines() if "listening" in line)
        self.port = int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(PATIENCE)

    def stop(self) -> int:
        """Return the exit code that SIGTERM ends it with."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return int(self._process.wait(PATIENCE))


def push_all(server: Process, client: int) -> None:
    """Push everything, each push again and again until it is answered."""
    with httpx.Client(timeout=5) as asking:
        for number in range(PUSHES):
            rows = [{"client": client, "n": number * ROWS + at} for at in range(ROWS)]
            told = {"Idempotency-Key": f"{client}-{number}"}
            deadline = time.monotonic() + PATIENCE
            while True:
                assert time.monotonic() < deadline
                with suppress(httpx.TransportError):
                    path = f"{server.url}/v1/streams/s/rows"
                    answer = asking.post(path, json=rows, headers=told)
                    if answer.status_code == 200:
                        break
                    assert answer.status_code == 503, answer.text
                time.sleep(0.05)
            time.sleep(0.02)


def follow(server: Process, seen: list[tuple[str, int, int]], enough: int) -> None:
    """Follow the query over every break, from the last position on."""
    deadline = time.monotonic() + 2 * PATIENCE
    while len(seen) < enough and time.monotonic() < deadline:
        told = {"Last-Event-ID": seen[-1][0]} if seen else {}
        with (
            suppress(httpx.TransportError),
            httpx.stream(
                "GET", f"{server.url}/v1/queries/q/rows", headers=told, timeout=5
            ) as response,
        ):
            if response.status_code == 200:
                for event in events(response):
                    assert event.name == "", event
                    seen.append((event.id, event.data["client"], event.data["n"]))
                    if len(seen) >= enough:
                        return
        time.sleep(0.1)


def test_clients_lose_and_double_nothing_when_the_server_is_killed(tmp_path: Path) -> None:
    server = Process(tmp_path)
    server.start()
    everything = {(c, n) for c, n in itertools.product(range(CLIENTS), range(PUSHES * ROWS))}
    seen: list[tuple[str, int, int]] = []
    try:
        with httpx.Client(base_url=server.url, timeout=PATIENCE) as client:
            sql(client, SCRIPT)
        workers = [
            threading.Thread(target=push_all, args=(server, number)) for number in range(CLIENTS)
        ]
        workers.append(threading.Thread(target=follow, args=(server, seen, len(everything))))
        for each in workers:
            each.start()
        deadline = time.monotonic() + PATIENCE
        while len(seen) < len(everything) // 4:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        server.kill()
        server.start()
        for each in workers:
            each.join(2 * PATIENCE)
            assert not each.is_alive()
        assert len(seen) == len(everything)
        assert {(client, n) for _, client, n in seen} == everything
        assert len({position for position, _, _ in seen}) == len(seen)
        with httpx.Client(base_url=server.url, timeout=PATIENCE) as client:
            [counted] = sql(client, "SELECT count(*) AS n FROM q")[0]["rows"]
            assert counted == {"n": len(everything)}
            rows = [{"client": 0, "n": at} for at in range(ROWS)]
            told = {"Idempotency-Key": "0-0"}
            again = client.post("/v1/streams/s/rows", json=rows, headers=told)
            assert again.json() == {"accepted": 0, "repeated": True}
        assert server.stop() == 0
        audit = (tmp_path / "home" / "audit.jsonl").read_text().splitlines()
        assert [json.loads(line)["outcome"] for line in audit] == ["done"]
    finally:
        server.kill()


def test_a_server_that_others_could_reach_needs_a_token(tmp_path: Path) -> None:
    told = subprocess.run(
        [
            *(sys.executable, "-m", "penstock", "serve", "--home", str(tmp_path)),
            *("--host", "0.0.0.0", "--port", "0"),
        ],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )
    assert told.returncode == 2
    assert told.stderr.startswith("NOT_ALLOWED")
