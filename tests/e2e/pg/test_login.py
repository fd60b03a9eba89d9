"""Who is let in: tokens, TLS, limits, and what is no client at all."""

import shutil
import socket
import ssl
import struct
import subprocess
from pathlib import Path

import psycopg
import pytest
from psycopg.pq import DiagnosticField, ExecStatus

from penstock.server.access import Role
from penstock.server.pg.listener import Limits
from tests.e2e.pg.memory_home import MemoryHome, listening, token

TOKENS = {"pst_secret": token("grafana", Role.READ)}


def test_the_user_is_the_tokens_name_and_the_password_the_token(home: MemoryHome, dsn: str) -> None:
    home.tokens |= TOKENS
    with psycopg.connect(dsn, user="grafana", password="pst_secret") as client:
        assert client.execute("SELECT current_user").fetchone() == ("grafana",)


@pytest.mark.parametrize(("user", "password"), [("grafana", "wrong"), ("other", "pst_secret")])
def test_anybody_else_is_refused(home: MemoryHome, dsn: str, user: str, password: str) -> None:
    home.tokens |= TOKENS
    with pytest.raises(psycopg.OperationalError, match="FATAL"):
        psycopg.connect(dsn, user=user, password=password)


def test_a_token_that_is_taken_away_ends_what_it_may(home: MemoryHome, dsn: str) -> None:
    home.tokens |= TOKENS | {"pst_other": token("other")}
    with psycopg.connect(dsn, user="grafana", password="pst_secret", autocommit=True) as client:
        assert client.execute("SELECT 1").fetchone() == (1,)
        del home.tokens["pst_secret"]
        with pytest.raises(psycopg.errors.InvalidPassword):
            client.execute("SELECT 1")


def test_a_token_travels_over_tls(home: MemoryHome, tmp_path: Path) -> None:
    home.tokens |= TOKENS
    with listening(home, _context(tmp_path)) as port:
        told = f"host=127.0.0.1 port={port} user=grafana password=pst_secret sslmode=require"
        with psycopg.connect(told) as client:
            assert client.pgconn.ssl_in_use
            assert client.execute("SELECT 1").fetchone() == (1,)
            client.cancel_safe()


def test_without_tls_a_client_that_wants_it_goes_away(dsn: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="SSL"):
        psycopg.connect(dsn, sslmode="require")


def test_only_so_many_are_here_at_once(home: MemoryHome) -> None:
    with listening(home, limits=Limits(connections=1)) as port:
        told = f"host=127.0.0.1 port={port} user=me"
        with psycopg.connect(told), pytest.raises(psycopg.OperationalError, match="already"):
            psycopg.connect(told)


def test_a_newer_minor_version_is_talked_down(port: int) -> None:
    startup = struct.pack("!i", 3 << 16 | 2) + b"user\0me\0_pq_.new\0on\0\0"
    with socket.create_connection(("127.0.0.1", port), 60) as client:
        client.sendall(struct.pack("!i", len(startup) + 4) + startup)
        assert client.recv(1) == b"v"


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack("!ii", 8, 2 << 16),
        struct.pack("!i", 2**31 - 1),
        struct.pack("!ii", 4, 0),
        struct.pack("!iii", 12, 3 << 16, 0),
    ],
)
def test_what_is_no_client_is_told_so_and_sent_away(port: int, data: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), 60) as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        assert _all_from(client)[:1] in (b"E", b"")


@pytest.mark.parametrize(
    ("message", "state"),
    [
        (b"Q" + struct.pack("!i", 2**31 - 1), b"C54000"),
        (b"?" + struct.pack("!i", 4), b"C08P01"),
        (b"P" + struct.pack("!i", 6) + b"ab", b"C08P01"),
    ],
)
def test_a_broken_message_ends_the_connection(port: int, message: bytes, state: bytes) -> None:
    startup = struct.pack("!i", 3 << 16) + b"user\0me\0\0"
    with socket.create_connection(("127.0.0.1", port), 60) as client:
        client.sendall(struct.pack("!i", len(startup) + 4) + startup + message)
        assert state in _all_from(client)


def test_who_guesses_a_key_cancels_nothing(port: int, dsn: str) -> None:
    with psycopg.connect(dsn) as client:
        asked = struct.pack("!iiii", 16, 80877102, client.info.backend_pid, 12345)
        with socket.create_connection(("127.0.0.1", port), 60) as other:
            other.sendall(asked)
            assert _all_from(other) == b""
        assert client.execute("SELECT 1").fetchone() == (1,)


def _all_from(client: socket.socket) -> bytes:
    found = b""
    while part := client.recv(4096):
        found += part
    return found


def _context(directory: Path) -> ssl.SSLContext:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed, which makes the certificate")
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    files = ["-keyout", str(key), "-out", str(certificate), "-days", "1"]
    subprocess.run([*command, *files], check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return context


def test_what_is_sent_before_the_encryption_is_not_taken_for_encrypted(
    home: MemoryHome, tmp_path: Path
) -> None:
    with listening(home, _context(tmp_path)) as port:
        with socket.create_connection(("127.0.0.1", port), 60) as client:
            client.sendall(struct.pack("!ii", 8, 80877103) + b"startup of somebody between")
            answer = client.recv(1000)
        assert answer[:1] == b"E"
        assert b"08P01" in answer


def test_long_texts_are_refused(dsn: str) -> None:
    long = "SELECT 1 -- " + "x" * (1 << 18)
    with psycopg.connect(dsn, autocommit=True) as client:
        with pytest.raises(psycopg.errors.ProgramLimitExceeded):
            client.execute(long)
        with pytest.raises(psycopg.errors.ProgramLimitExceeded):
            client.execute(long, prepare=True)
        assert client.execute("SELECT 1").fetchone() == (1,)


def test_what_is_kept_for_a_client_is_bounded(dsn: str) -> None:
    text = b"SELECT 1 -- " + b"x" * 200_000
    with psycopg.connect(dsn) as client:
        results = [client.pgconn.prepare(b"p%d" % number, text) for number in range(30)]
        assert {each.status for each in results[:20]} == {ExecStatus.COMMAND_OK}
        assert results[-1].error_field(DiagnosticField.SQLSTATE) == b"53400"
    with psycopg.connect(dsn) as client:
        for number in range(100):
            client.execute(f"DECLARE c{number} CURSOR FOR SELECT 1")
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded):
            client.execute("DECLARE another CURSOR FOR SELECT 1")
