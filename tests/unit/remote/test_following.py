"""Rows come once and in order, however their bytes are cut and wherever connections break."""

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from unittest import mock

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import SinkError, UnreachableError
from penstock.remote.answers import RowReader
from penstock.remote.channel import Channel, Server
from penstock.remote.following import Ended, Following
from penstock.remote.subscription import RemoteSubscription
from penstock.runtime.durable.result_row import START, Position, ResultRow
from tests.examples import examples

POSITIONS = [(1, 0), (1, 1), (2, 0), (5, 0), (5, 1), (5, 2)]
NAMES = "q\x85\u2028\n\r\"'é"  # JSON may hold breaks that are none of a stream's
END = b"event: end\ndata: {}\n\n"


def event(position: Position) -> bytes:
    row = json.dumps({"n": position[0], "name": NAMES}, ensure_ascii=False)
    return f"id: {position[0]}-{position[1]}\ndata: {row}\n\n".encode()


def behind(after: Position) -> bytes:
    """Return what a server sends behind a position."""
    return b": it lives\n\n" + b"".join(event(p) for p in POSITIONS if p > after) + END


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges)]


@given(st.lists(st.integers(0, 10_000)))
def test_rows_do_not_depend_on_how_their_bytes_are_cut(places: list[int]) -> None:
    following = Following("q", RowReader({"n": "int", "name": "string"}), START)
    found = [news for part in cut(behind(START), places) for news in following.read(part)]
    assert found[-1] == Ended()
    rows = [row for row in found[:-1] if isinstance(row, ResultRow)]
    assert [row.position for row in rows] == POSITIONS
    assert all(row["name"] == NAMES for row in rows)


class Breaking(httpx.SyncByteStream):
    """Some bytes, and then a connection that is lost."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __iter__(self) -> Iterator[bytes]:
        yield self._data
        raise httpx.ReadError("lost")


def channel(handler: Callable[[httpx.Request], httpx.Response], patience: float = 5) -> Channel:
    made = Channel(Server("http://here", patience=patience))
    made._client = httpx.Client(transport=httpx.MockTransport(handler), base_url="http://here")
    return made


def follow(made: Channel, after: Position | None = START) -> RemoteSubscription:
    return RemoteSubscription(made, Following("q", RowReader({}), after), 2)


@settings(max_examples=examples(60))
@given(st.lists(st.integers(0, len(behind(START))), max_size=6))
def test_a_subscription_goes_on_behind_its_last_row_where_the_connection_broke(
    breaks: list[int],
) -> None:
    left = list(breaks)
    at_once = mock.patch("penstock.remote.patience.FIRST_SECONDS", 1e-6)

    def serve(request: httpx.Request) -> httpx.Response:
        at = request.headers.get("last-event-id", "0-0").split("-")
        data = behind((int(at[0]), int(at[1])))
        if left and (place := left.pop()) < len(data):
            return httpx.Response(200, stream=Breaking(data[:place]))
        return httpx.Response(200, content=data)

    with at_once, follow(channel(serve)) as subscription:
        assert [row.position for row in subscription] == POSITIONS
        assert subscription.position == POSITIONS[-1]
        assert subscription.ended
        assert (subscription.left_out, subscription.gap) == (0, False)


def test_rows_that_were_gone_are_counted() -> None:
    lost = b'event: left_out\ndata: {"rows": %s}\n\n'
    data = lost % b"3" + event((4, 0)) + lost % b"null" + event((5, 0)) + END
    with follow(channel(lambda _: httpx.Response(200, content=data))) as subscription:
        assert subscription.next() is not None
        assert (subscription.left_out, subscription.gap) == (3, False)
        assert [row.position for row in subscription] == [(5, 0)]
        assert (subscription.left_out, subscription.gap) == (3, True)


def test_who_follows_from_now_on_is_told_of_a_gap_before_the_first_row() -> None:
    answers = [
        httpx.Response(200, stream=Breaking(b": it lives\n\n")),
        httpx.Response(200, content=event((7, 0)) + END),
    ]

    def serve(request: httpx.Request) -> httpx.Response:
        assert request.url.params["after"] == "now"
        return answers.pop(0)

    with follow(channel(serve), None) as subscription:
        assert [row.position for row in subscription] == [(7, 0)]
        assert subscription.gap


def test_what_has_stopped_everything_is_raised_behind_the_rows() -> None:
    told = {"code": "SINK_FAILED", "message": "no disk", "hint": "", "line": None, "column": None}
    data = event((1, 0)) + f"event: error\ndata: {json.dumps(told)}\n\n".encode()
    with follow(channel(lambda _: httpx.Response(200, content=data))) as subscription:
        assert subscription.next() is not None
        for _ in range(2):
            with pytest.raises(SinkError):
                subscription.next()


def test_what_passes_is_not_raised() -> None:
    told = {"code": "SPARK_DIED", "message": "", "hint": "", "line": None, "column": None}
    answers = [f"event: error\ndata: {json.dumps(told)}\n\n".encode(), behind(START)]
    serve = channel(lambda _: httpx.Response(200, content=answers.pop(0)))
    with follow(serve) as subscription:
        assert len(list(subscription)) == len(POSITIONS)


def test_a_server_that_does_not_come_back_ends_the_patience() -> None:
    answers = [httpx.Response(200, stream=Breaking(event((1, 0))))]

    def serve(request: httpx.Request) -> httpx.Response:
        if answers:
            return answers.pop()
        raise httpx.ConnectError("nobody", request=request)

    with follow(channel(serve, patience=0.2)) as subscription:
        assert subscription.next() is not None
        with pytest.raises(UnreachableError):
            subscription.next()


def test_closing_ends_a_reader_that_waits_for_room() -> None:
    subscription = follow(channel(lambda _: httpx.Response(200, content=behind(START))))
    subscription.close()
    subscription._thread.join(10)
    assert not subscription._thread.is_alive()
    assert subscription.next() is None
    assert subscription.ended
