"""Listening, without a home: by TLS, on addresses that are taken, and stopping."""

import shutil
import socket
import ssl
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from penstock.errors import ConfigurationError
from penstock.server.configuration import resolved
from penstock.server.opening import settings_of
from penstock.server.serve import Listeners
from penstock.server.service import Service
from penstock.server.timed_heads import TimedHeads

OPENSSL = shutil.which("openssl")


def service(home: Path, **settings: object) -> Service:
    given = {"home": str(home), "http.port": 0}
    variables = {f"PENSTOCK_{name.upper()}": str(value) for name, value in settings.items()}
    return Service(resolved(given, variables))


@pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed")
def test_clients_speak_tls_where_there_is_a_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout k.pem"
    more = ["-out", "c.pem", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([str(OPENSSL), *made.split(), *more], check=True, capture_output=True)
    of = service(tmp_path / "home", tls_certificate="c.pem", tls_key="k.pem")
    listeners = Listeners(of)
    listeners.start()
    try:
        [address] = listeners.addresses()
        assert address.startswith("https://127.0.0.1:")
        url = address.replace("127.0.0.1", "localhost") + "/health/live"
        trusted = ssl.create_default_context(cafile="c.pem")
        assert httpx.get(url, verify=trusted).json() == {"status": "live"}
        with pytest.raises(httpx.TransportError):
            httpx.get(url.replace("https", "http"))
    finally:
        listeners.stop()
        of.close()
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, verify=trusted)


def test_an_address_that_is_taken_and_a_certificate_that_is_none_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = service(tmp_path / "a")
    listeners = Listeners(first)
    port = listeners.http.getsockname()[1]
    second = service(tmp_path / "b")
    object.__setattr__(second.configuration, "http_port", port)
    listeners.start()
    with pytest.raises(ConfigurationError):
        Listeners(second)
    Path("none.pem").write_text("nothing")
    third = service(tmp_path / "c", tls_certificate="none.pem", tls_key="none.pem")
    with pytest.raises(ConfigurationError):
        Listeners(third)
    listeners.stop()
    for each in (first, second, third):
        each.close()


@pytest.mark.parametrize(
    "text",
    ["", "round_robin; DROP STREAM s", "nobody'", "x WITH (a => )", "nobody", "fifo WITH (a => 1)"],
)
def test_a_strategy_that_set_does_not_take_is_told(tmp_path: Path, text: str) -> None:
    of = service(tmp_path, runtime_strategy=text)
    with pytest.raises(ConfigurationError):
        settings_of(of.configuration)
    with pytest.raises(ConfigurationError):  # before it listens
        Listeners(of)
    of.close()


@pytest.mark.parametrize("text", ["adaptive WITH (period => 5)", "need", "round_robin"])
def test_a_strategy_may_have_parameters(tmp_path: Path, text: str) -> None:
    of = service(tmp_path, runtime_strategy=text)
    assert settings_of(of.configuration).strategy.text() == text
    of.close()


def test_keys_of_pushes_are_remembered_for_as_long_as_is_set(tmp_path: Path) -> None:
    of = service(tmp_path, limits_keys=7.0)
    assert settings_of(of.configuration).key_seconds == 7.0
    of.close()


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost: a"])
def test_a_client_that_does_not_ask_is_sent_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(TimedHeads, "head_seconds", 0.2)
    of = service(tmp_path)
    listeners = Listeners(of)
    listeners.start()
    with socket.create_connection(listeners.http.getsockname(), 10) as slow:
        slow.sendall(begun)
        assert slow.recv(1) == b""
    listeners.stop()
    of.close()


def test_a_client_that_asks_in_parts_and_again_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TimedHeads, "head_seconds", 1.0)
    of = service(tmp_path)
    listeners = Listeners(of)
    listeners.start()
    with socket.create_connection(listeners.http.getsockname(), 10) as client:
        for _ in range(3):
            client.sendall(b"GET /health/live HTTP/1.1\r\n")
            time.sleep(0.5)  # three requests take longer than the limit of one head
            client.sendall(b"Host: localhost\r\n\r\n")
            answer = b""
            while b'{"status":"live"}' not in answer:
                answer += client.recv(10_000)
            assert answer.startswith(b"HTTP/1.1 200")
    listeners.stop()
    of.close()
