"""What is sent again, and what is not."""

import json
from collections.abc import Callable
from unittest import mock

import httpx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import penstock
from penstock.errors import (
    BadArgumentError,
    BadRowError,
    ClosedError,
    NotReadyError,
    PenstockError,
    ServerError,
    SqlError,
    TooManyError,
    UnreachableError,
)
from penstock.remote import calls, requests
from penstock.remote.answers import error_of
from penstock.remote.channel import Channel, Server
from penstock.remote.connection import RemoteConnection

Answer = httpx.Response | type[httpx.TransportError]


def refusal(status: int, code: str, **more: object) -> httpx.Response:
    told = {"code": code, "message": "m", "hint": "h", "line": None, "column": None, **more}
    return httpx.Response(status, json={"error": told})


class Scripted:
    """A server that gives one answer after the other, and keeps what it was asked."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, httpx.Response):
            return answer
        raise answer("it broke", request=request)


def connection(server: Callable[[httpx.Request], httpx.Response]) -> RemoteConnection:
    made = RemoteConnection(Server("http://here", patience=5))
    client = httpx.Client(transport=httpx.MockTransport(server), base_url="http://here")
    made._channel._client = client
    return made


@pytest.fixture(autouse=True)
def at_once() -> object:
    with mock.patch("penstock.remote.patience.FIRST_SECONDS", 1e-6):
        yield


def fine(**told: object) -> httpx.Response:
    return httpx.Response(200, json=told)


@pytest.mark.parametrize(
    "failure",
    [
        httpx.ConnectError,
        httpx.ReadError,
        httpx.ReadTimeout,
        httpx.RemoteProtocolError,
        refusal(503, "SPARK_DIED"),
        refusal(503, "NOT_READY"),
        refusal(429, "TOO_MANY"),
        httpx.Response(502, text="a proxy"),
    ],
)
def test_a_push_is_sent_again_as_it_was_whatever_came_between(failure: Answer) -> None:
    server = Scripted(failure, failure, fine(accepted=0, repeated=True))
    assert connection(server).push("s", [{"n": 1}, {"n": 2}]) == 2
    keys = {request.headers["idempotency-key"] for request in server.asked}
    assert len(server.asked) == 3
    assert len(keys) == 1
    assert {request.content for request in server.asked} == {b'{"n": 1}\n{"n": 2}'}


def test_each_push_has_a_key_of_its_own() -> None:
    server = Scripted(fine(accepted=1), fine(accepted=1))
    ps = connection(server)
    ps.push("s", [{"n": 1}])
    ps.push("s", [{"n": 1}])
    assert len({request.headers["idempotency-key"] for request in server.asked}) == 2


@pytest.mark.parametrize("failure", [httpx.ReadError, httpx.ReadTimeout, httpx.RemoteProtocolError])
def test_a_script_that_may_have_been_carried_out_is_sent_once(
    failure: type[httpx.TransportError],
) -> None:
    server = Scripted(failure)
    with pytest.raises(UnreachableError) as raised:
        connection(server).sql("CREATE STREAM s (n INT) FROM push()")
    assert "may have been carried out" in raised.value.hint


@pytest.mark.parametrize(
    "failure", [httpx.ConnectError, refusal(503, "NOT_READY"), refusal(429, "TOO_MANY")]
)
def test_a_script_that_was_not_carried_out_is_sent_again(failure: Answer) -> None:
    results = [{"columns": [], "types": [], "rows": [], "message": "stream s created"}]
    server = Scripted(failure, fine(results=results))
    assert connection(server).sql("CREATE STREAM s …").message == "stream s created"


def test_a_script_is_not_sent_again_where_spark_has_died() -> None:
    with pytest.raises(PenstockError):
        connection(Scripted(refusal(503, "SPARK_DIED"))).sql("DROP STREAM s")


def test_patience_ends_with_what_the_server_says() -> None:
    def busy(_: httpx.Request) -> httpx.Response:
        return refusal(503, "NOT_READY")

    ps = connection(busy)
    ps._channel.server = Server("http://here", patience=0.05)
    with pytest.raises(NotReadyError):
        ps.push("s", [{"n": 1}])


def test_who_asks_too_much_waits_as_long_as_the_server_says() -> None:
    busy = refusal(429, "TOO_MANY")
    busy.headers["retry-after"] = "3"
    ps = connection(Scripted(busy))
    ps._channel.server = Server("http://here", patience=1)
    with pytest.raises(TooManyError):
        ps.push("s", [{"n": 1}])


def test_rows_are_asked_for_as_arrow_and_other_statements_as_json() -> None:
    asked = [ask.headers["Accept"] for ask in calls.script("SELECT 1; DROP STREAM s")]
    assert asked == ["application/vnd.apache.arrow.stream", "application/json"]
    assert [ask.headers["Accept"] for ask in calls.script("DROP STREAM s")] == asked[1:]


def test_a_script_that_began_like_rows_is_asked_for_otherwise_where_nothing_was_done() -> None:
    server = Scripted(refusal(400, "BAD_QUERY"), fine(results=[]))
    assert connection(server).script("SELECT 1; DROP STREAM s") == []


def test_an_error_of_the_statement_itself_is_told_and_asked_for_once() -> None:
    server = Scripted(refusal(400, "SQL_SYNTAX", line=1, column=8))
    with pytest.raises(SqlError) as raised:
        connection(server).sql("SELECT ,")
    assert raised.value.place is not None
    assert raised.value.place.caret() == "SELECT ,\n       ^"


def test_every_error_comes_back_as_what_it_was() -> None:
    for kind in all_errors(PenstockError):
        if "code" not in vars(kind):
            continue  # a server's own class of an error that clients know by its parent
        error = error_of({"code": kind.code, "message": "m", "hint": "h"})
        assert type(error) is kind
        assert (error.message, error.hint) == ("m", "h")


def all_errors(kind: type[PenstockError]) -> list[type[PenstockError]]:
    return [below for each in kind.__subclasses__() for below in (each, *all_errors(each))]


def test_an_error_of_a_newer_server_keeps_its_code() -> None:
    error = error_of({"code": "NEWER", "message": "m"})
    assert isinstance(error, ServerError)
    assert error.code == "NEWER"
    assert ServerError.code == "SERVER"


@pytest.mark.parametrize("answer", [httpx.Response(404, text="nginx"), httpx.Response(500)])
def test_what_is_no_penstock_is_told(answer: httpx.Response) -> None:
    with pytest.raises(UnreachableError):
        connection(Scripted(answer)).sql("SELECT 1")


def test_names_stay_names_in_paths() -> None:
    for name in ("a/b", "..", "a b", "a?b#c", "ü%2f"):
        ask = requests.push(name, [{}], None)[0]
        assert ask.path.count("/") == 4
        assert not set("?# ") & set(ask.path)


def test_a_closed_connection_says_so() -> None:
    ps = connection(Scripted())
    ps.close()
    ps.close()
    with pytest.raises(ClosedError):
        ps.sql("SELECT 1")


@pytest.mark.parametrize(
    "url", ["http://", "ftp://x", "http://x?y=1", "http://me:secret@x", "x", "http://x#y"]
)
def test_what_is_no_url_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(BadArgumentError):
        Channel(Server(url))
    with pytest.raises(BadArgumentError):  # a token is for servers, and no directory takes one
        penstock.connect(url, token=None)


def test_bodies_are_one_json_object_a_line_or_arrow() -> None:
    ask, count = requests.push("s", {"n": 1, "t": "x"}, "k")
    assert (json.loads(ask.content), count) == ({"n": 1, "t": "x"}, 1)
    assert ask.headers["Idempotency-Key"] == "k"
    for rows in (
        {"n": [1, 2]},
        {"n": np.array([1, 2])},
        {"n": np.array([[1, 2], [3, 4]])},
        pd.DataFrame({"n": [1, 2]}),
        pa.record_batch({"n": [1, 2]}),
    ):
        ask, count = requests.push("s", rows, "k")
        assert (ask.headers["Content-Type"], count) == ("application/vnd.apache.arrow.stream", 2)
        assert pa.ipc.open_stream(ask.content).read_all().column_names == ["n"]
    ask, count = requests.push("s", (row for row in ({"n": [1]}, {})), "k")
    assert (ask.content, count) == (b'{"n": [1]}\n{}', 2)


@pytest.mark.parametrize("rows", ["text", b"bytes", 7, None, {"n": [1], "m": [1, 2]}, [{"n": {1}}]])
def test_what_holds_no_rows_is_refused_before_anything_is_sent(rows: object) -> None:
    with pytest.raises(BadRowError):
        connection(Scripted()).push("s", rows)
