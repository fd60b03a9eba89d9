"""`penstock serve` as a process: killed under pushes and subscribers, stopped, started again."""

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

import penstock
from tests.e2e.server.served import PATIENCE, events, sql

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[3]
SCRIPT = """
CREATE STREAM s (client INT, n INT) FROM push();
CREATE QUERY q AS SELECT client, n FROM s WHERE n >= 0;
"""
CLIENTS, PUSHES, ROWS = 50, 12, 3
PLAIN = 40  # of the clients, which speak HTTP; the others are Penstock's own
REPEATS = 5  # every fifth push is sent again although it was answered
EVERYTHING = set(itertools.product(range(CLIENTS), range(PUSHES * ROWS)))
AGAIN_SECONDS = 0.25  # a crowd that knocks more often slows the start that it waits for

Seen = list[tuple[str, int, int]]  # a position, a client, and which of its rows


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

    def kill(self) -> int:
        if self._process is None:
            return 0
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        return int(self._process.wait(PATIENCE))

    def stop(self) -> int:
        """Return the exit code that SIGTERM ends it with."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return int(self._process.wait(PATIENCE))


class Working(threading.Thread):
    """Work in a thread, whose failure is the test's."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._work, self._failure = work, list[BaseException]()
        self.start()

    def run(self) -> None:
        try:
            self._work()
        except BaseException as failure:
            self._failure.append(failure)

    def finish(self) -> None:
        self.join(2 * PATIENCE)
        assert not self.is_alive()
        for failure in self._failure:
            raise failure


def rows_of(client: int, number: int) -> list[dict[str, int]]:
    return [{"client": client, "n": number * ROWS + at} for at in range(ROWS)]


async def push_plainly(
    server: Process, asking: httpx.AsyncClient, client: int, over: threading.Event
) -> None:
    """Push everything, each push until it is answered, and the last one until it is over."""

    async def pushed(number: int) -> int:
        told = {"Idempotency-Key": f"{client}-{number}"}
        path = f"{server.url}/v1/streams/s/rows"
        deadline = time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < deadline
            with suppress(httpx.TransportError):
                answer = await asking.post(path, json=rows_of(client, number), headers=told)
                if answer.status_code == 200:
                    return int(answer.json()["accepted"])
                assert answer.status_code == 503, answer.text
            await asyncio.sleep(AGAIN_SECONDS)

    for number in range(PUSHES):
        assert await pushed(number) in (ROWS, 0)  # none where the first answer was lost
        if number % REPEATS == 0:
            assert await pushed(number) == 0
    while not over.is_set():  # whenever the server ends it is under load
        assert await pushed(PUSHES - 1) == 0
        await asyncio.sleep(AGAIN_SECONDS)


async def push_by_connection(server: Process, client: int) -> None:
    """Push everything; the connection sends again what was not answered."""
    async with await penstock.connect_async(server.url, patience=PATIENCE) as ps:
        for number in range(PUSHES):
            rows, key = rows_of(client, number), f"{client}-{number}"
            assert await ps.push_once("s", rows, key) in (ROWS, 0)
            if number % REPEATS == 0:
                assert await ps.push_once("s", rows, key) == 0


async def push_all(server: Process, over: threading.Event) -> None:
    """Push by all clients at once."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(timeout=5, limits=limits) as asking:
        plain = [push_plainly(server, asking, client, over) for client in range(PLAIN)]
        own = [push_by_connection(server, client) for client in range(PLAIN, CLIENTS)]
        await asyncio.gather(*plain, *own)


def follow_plainly(server: Process, seen: Seen) -> None:
    """Follow the query over every break, from the last position on."""
    deadline = time.monotonic() + 2 * PATIENCE
    while len(seen) < len(EVERYTHING) and time.monotonic() < deadline:
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
                    if len(seen) >= len(EVERYTHING):
                        return
        time.sleep(AGAIN_SECONDS)


def follow_by_connection(server: Process, seen: Seen) -> None:
    """Follow the query; the connection goes on after every break."""
    with (
        penstock.connect(server.url, token=None, patience=PATIENCE) as ps,
        ps.subscribe("q") as subscription,
    ):
        for row in subscription:
            seen.append(("{}-{}".format(*row.position), row["client"], row["n"]))
            if len(seen) >= len(EVERYTHING):
                return


def test_clients_lose_and_double_nothing_when_the_server_is_killed_and_restarted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.remote.patience.MOST_SECONDS", 2 * AGAIN_SECONDS)
    server = Process(tmp_path)
    server.start()
    plain, own, over = Seen(), Seen(), threading.Event()
    try:
        with httpx.Client(base_url=server.url, timeout=PATIENCE) as client:
            sql(client, SCRIPT)
        pushing = Working(lambda: asyncio.run(push_all(server, over)))
        following = [
            Working(lambda: follow_plainly(server, plain)),
            Working(lambda: follow_by_connection(server, own)),
        ]
        for part, end in ((0.2, server.kill), (0.6, server.stop)):
            deadline = time.monotonic() + PATIENCE
            while min(len(plain), len(own)) < part * len(EVERYTHING):
                assert time.monotonic() < deadline
                time.sleep(0.01)
            assert end() in (0, -signal.SIGKILL)
            server.start()
        over.set()
        for each in (pushing, *following):
            each.finish()
        for seen in (plain, own):
            assert len(seen) == len(EVERYTHING)
            assert {(client, n) for _, client, n in seen} == EVERYTHING
            assert len({position for position, _, _ in seen}) == len(seen)
        with httpx.Client(base_url=server.url, timeout=PATIENCE) as client:
            [counted] = sql(client, "SELECT count(*) AS n FROM q")[0]["rows"]
            assert counted == {"n": len(EVERYTHING)}
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
