"""The application without a home: what it answers before one is open, and to whom."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from penstock.errors import NotAllowedError
from penstock.server.access.caller import Role
from penstock.server.access.tokens import TokenFile, new_token
from penstock.server.configuration import resolved
from penstock.server.http.application import application
from penstock.server.serve import Listeners
from penstock.server.service import Service


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    yield tmp_path / "home"
    logging.getLogger("penstock.server").handlers.clear()


def service(home: Path, **settings: str) -> Service:
    variables = {f"PENSTOCK_{name.upper()}": value for name, value in settings.items()}
    return Service(resolved({"home": str(home), "http.port": "0"}, variables))


def ask(of: Service, path: str, headers: dict[str, str] | None = None, **more: Any) -> Any:
    """Return the answer to a request that asks for http://127.0.0.1:8080."""
    method = more.pop("method", "POST" if more else "GET")

    async def answered() -> httpx.Response:
        transport = httpx.ASGITransport(application(of))
        url = "http://127.0.0.1:8080"
        async with httpx.AsyncClient(transport=transport, base_url=url) as client:
            return await client.request(method, path, headers=headers, **more)

    return asyncio.run(answered())


def test_until_the_home_is_open_it_lives_and_is_not_ready(home: Path) -> None:
    of = service(home)
    assert ask(of, "/health/live").status_code == 200
    assert ask(of, "/health/ready").status_code == 503
    assert ask(of, "/health/live", method="HEAD").status_code == 200
    assert ask(of, "/health/ready", method="HEAD").status_code == 503
    answer = ask(of, "/v1/sql", json={"sql": "SHOW STREAMS"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "NOT_READY")
    assert int(answer.headers["retry-after"]) > 0
    of.close()


def test_statements_may_be_sent_over_several_lines_as_a_shell_sends_them(home: Path) -> None:
    of = service(home)
    body = b'{"sql": "\n  CREATE STREAM s (id INT)\n\tFROM push()"}'
    answer = ask(of, "/v1/sql", content=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "NOT_READY")
    answer = ask(of, "/v1/sql", content=b'{"sql": "SELECT')
    assert answer.json()["error"]["message"].count(" at ") == 1
    of.close()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8080", 200),
        ("localhost", 200),
        ("LOCALHOST:1", 200),
        ("[::1]:8080", 200),
        ("mine.example:8080", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example:8080", 403),
        ("localhost.evil.example", 403),
        ("10.0.0.1", 403),
        ("", 403),
    ],
)
def test_without_tokens_only_names_of_this_machine_are_answered(
    home: Path, host: str, status: int
) -> None:
    of = service(home, http_hosts="mine.example")
    assert ask(of, "/health/live", {"Host": host}).status_code == status
    of.close()


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:8080", 200),
        ("https://127.0.0.1:8080", 200),  # a proxy ends TLS
        ("https://page.example", 200),
        ("http://127.0.0.1:9999", 403),
        ("http://evil.example", 403),
        ("null", 403),
        ("127.0.0.1:8080", 200),
    ],
)
def test_scripts_of_our_own_and_of_named_sites_alone_may_ask(
    home: Path, origin: str, status: int
) -> None:
    of = service(home, http_origins="https://page.example")
    answer = ask(of, "/health/live", {"Origin": origin})
    assert answer.status_code == status
    shared = answer.headers.get("access-control-allow-origin")
    assert shared == ("https://page.example" if origin == "https://page.example" else None)
    of.close()


def test_the_first_token_closes_the_door_and_the_last_one_opens_it(home: Path) -> None:
    of = service(home)
    statement = {"json": {"sql": "SHOW STREAMS"}}
    assert ask(of, "/v1/sql", **statement).status_code == 503  # the home is not open
    secret, token = new_token("ada", Role.READ, None)
    TokenFile(home).add(token)
    assert ask(of, "/v1/sql", **statement).status_code == 401
    told = {"Authorization": f"Bearer {secret}"}
    assert ask(of, "/v1/sql", told, **statement).status_code == 503
    TokenFile(home).revoke("ada")
    assert ask(of, "/v1/sql", **statement).status_code == 503
    of.close()


def test_tokens_that_cannot_be_read_let_nobody_in(home: Path) -> None:
    of = service(home)
    home.mkdir(exist_ok=True)
    (home / "tokens.json").write_text("{")
    answer = ask(of, "/v1/sql", json={"sql": "SHOW STREAMS"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "BAD_CONFIGURATION")
    of.close()


def test_a_caller_who_asks_too_often_is_told_when_to_come_again(home: Path) -> None:
    of = service(home, limits_requests="2")
    statement = {"json": {"sql": "SHOW STREAMS"}}
    answers = [ask(of, "/v1/sql", **statement) for _ in range(4)]
    assert [answer.status_code for answer in answers[:2]] == [503, 503]
    assert 429 in {answer.status_code for answer in answers}
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.json()["error"]["code"] == "TOO_MANY"
    assert int(refused.headers["retry-after"]) >= 1
    of.close()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_nobody_else_is_let_in_without_a_token(home: Path, host: str) -> None:
    of = service(home, http_host=host)
    with pytest.raises(NotAllowedError):
        Listeners(of)
    of.close()


def test_a_defect_tells_its_id_and_nothing_else(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = service(home)

    def broken(*_: object) -> None:
        raise RuntimeError("a secret of ours")

    monkeypatch.setattr(of, "running", broken)
    transport = httpx.ASGITransport(application(of), raise_app_exceptions=False)

    async def answered() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get("/v1/statements", headers={"X-Request-Id": "id-1"})

    answer = asyncio.run(answered())
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "DEFECT"
    assert "id-1" in answer.text
    assert "secret" not in answer.text
    of.close()
