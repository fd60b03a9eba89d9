"""Rows as events: every subscriber's own, their text made once where they are the same."""

import asyncio
import json
from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.sinks.sink import Delivery
from penstock.runtime.durable.result_row import START, Position
from penstock.runtime.work.subscription import Subscription
from penstock.server.configuration import resolved
from penstock.server.http import follow
from penstock.server.http.follow import Chunk, Follower, as_events
from penstock.server.service import Service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    made = Service(resolved({"home": str(tmp_path_factory.mktemp("follow"))}, {}))
    yield made
    made.close()


def table(rows: int, of: str = "x") -> pa.Table:
    return pa.table({"n": list(range(rows)), "text": [of] * rows})


def texts(service: Service, rows: list[pa.Table], after: Position | None = None) -> list[bytes]:
    """Return the events of a subscriber to whom these are delivered, chunk by chunk."""
    with Subscription("q", after=after) as subscription:
        for number, each in enumerate(rows, start=1):
            subscription.deliver(Delivery("q", number, each))

        async def read() -> list[bytes]:
            found = Follower(service, subscription, waits=False)
            return [as_events(each) async for each in found if isinstance(each, Chunk)]

        return asyncio.run(read())


def events(chunks: list[bytes]) -> list[tuple[str, dict[str, object]]]:
    """Return each row with its id."""
    lines = [each.split("\n") for each in b"".join(chunks).decode().split("\n\n")[:-1]]
    return [(a.removeprefix("id: "), json.loads(b.removeprefix("data: "))) for a, b in lines]


def expected(rows: list[pa.Table]) -> list[tuple[str, dict[str, object]]]:
    return [
        (f"{number}-{index}", row)
        for number, each in enumerate(rows, start=1)
        for index, row in enumerate(each.to_pylist())
    ]


@given(st.lists(st.integers(1, 9), max_size=4), st.integers(1, 10), st.integers(1, 200))
def test_rows_come_in_order_however_they_are_cut(
    service: Service, sizes: list[int], most_rows: int, most_bytes: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(follow, "CHUNK_ROWS", most_rows)
        patch.setattr(follow, "CHUNK_BYTES", most_bytes)
        rows = [table(size) for size in sizes]
        assert events(texts(service, rows)) == expected(rows)


def test_who_is_sent_the_same_is_sent_one_text(service: Service) -> None:
    rows = [table(5), table(3)]
    first, second = texts(service, rows), texts(service, rows, START)
    assert len(first) == 2
    assert all(one is other for one, other in zip(first, second, strict=True))


def test_who_resumes_within_a_delivery_is_sent_the_rest(service: Service) -> None:
    rows = [table(5), table(3)]
    texts(service, rows)
    assert events(texts(service, rows, after=(1, 2))) == expected(rows)[3:]


def test_rows_of_another_query_of_that_name_are_its_own(service: Service) -> None:
    for of in ("old", "new"):
        rows = [table(4, of)]
        assert events(texts(service, rows)) == expected(rows)
