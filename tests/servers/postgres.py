"""A real PostgreSQL for tests: on loopback, as a user without rights, gone when they are over."""

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.servers.ports import LOOPBACK, free_port

PATIENCE = 60.0  # seconds for any one wait: the machine may be busy
ATTEMPTS = 5  # somebody else may take a free port before the server does
OWNER = "postgres"  # whom root becomes, since PostgreSQL refuses root
USER = "penstock"
# What a crash of the machine would take is of no interest: only processes die here.
FAST = ("fsync=off", "shared_buffers=16MB", "max_connections=50", "wal_level=logical")
ABSENT = "no PostgreSQL is installed: the package postgresql of Debian is one"


class PostgresServer:
    """One server; each test takes a database of its own from it."""

    def __init__(self, programs: Path, data: Path) -> None:
        self._programs, self._data = programs, data
        self.password = f"p@ss/{secrets.token_hex(8)}"  # with what a URL has to quote
        self._numbers = count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def initialize(self) -> None:
        """Make the server's files."""
        secret = self._data.with_name("password")
        secret.write_text(self.password)
        _hand_over(secret)
        options = ("--auth=scram-sha-256", "--username", USER, "--pwfile", str(secret))
        subprocess.run(
            [
                self._programs / "initdb",
                "-D",
                self._data,
                *options,
                "--locale=C.UTF-8",
                "--no-sync",
            ],
            check=True,
            capture_output=True,
            **_as_owner(),
        )
        secret.unlink()

    def start(self) -> None:
        """Start it, on the port that it had before, if any."""
        for _ in range(ATTEMPTS):
            port = self.port or free_port()
            if self._comes_up(port):
                self.port = port
                return
            time.sleep(0.2)  # after a death its children may still be about to notice
        raise AssertionError(self.log())

    def _comes_up(self, port: int) -> bool:
        places = (f"listen_addresses={LOOPBACK}", f"port={port}", "unix_socket_directories=")
        settings = [part for each in (*places, *FAST) for part in ("-c", each)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, *settings],
                stdout=log,
                stderr=log,
                start_new_session=True,
                **_as_owner(),
            )
        deadline = time.monotonic() + PATIENCE
        while self._process.poll() is None:
            with suppress(psycopg.OperationalError):
                psycopg.connect(**self._where(port), dbname="postgres").close()
                return True
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.05)
        return False

    def stop(self) -> None:
        """Stop it at once, as a machine that is shut down does; clients are cut off."""
        self._end(signal.SIGQUIT)

    def kill(self) -> None:
        """Let it die with everything that it started."""
        self._end(signal.SIGKILL)

    def _end(self, by: signal.Signals) -> None:
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            if by is signal.SIGKILL:
                os.killpg(self._process.pid, by)
            else:
                self._process.send_signal(by)
        self._process.wait(PATIENCE)
        self._process = None

    def database(self) -> str:
        """Return the URL of a new, empty database, with user and password."""
        name = f"test_{next(self._numbers)}"
        with psycopg.connect(**self._where(self.port), dbname="postgres", autocommit=True) as admin:
            admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        password = self.password.replace("@", "%40").replace("/", "%2F")
        return f"postgresql://{USER}:{password}@{LOOPBACK}:{self.port}/{name}"

    @property
    def place(self) -> Path:
        """Return the directory of its files."""
        return self._data.parent

    def log(self) -> str:
        """Return what the server has said."""
        return self._log.read_text(errors="replace")

    @property
    def _log(self) -> Path:
        return self._data.with_name("log")

    def _where(self, port: int) -> dict[str, Any]:
        return {"host": LOOPBACK, "port": port, "user": USER, "password": self.password}


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """Run a server of its own; skip the test where none is installed, but not on CI."""
    programs = _programs()
    if programs is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(ABSENT)
    place = Path(tempfile.mkdtemp(prefix="penstock-postgres-"))
    _hand_over(place)
    server = PostgresServer(programs, place / "data")
    try:
        server.initialize()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(place, ignore_errors=True)


def _programs() -> Path | None:
    """Return the directory of the server's programs, which Debian keeps off the path."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((each for each in places if (each / "initdb").exists()), None)


def _as_owner() -> dict[str, Any]:
    """Return how to start a process as a user whom PostgreSQL takes."""
    return {"user": OWNER, "group": OWNER, "extra_groups": []} if os.geteuid() == 0 else {}


def _hand_over(path: Path) -> None:
    if os.geteuid() == 0:
        shutil.chown(path, OWNER, OWNER)
