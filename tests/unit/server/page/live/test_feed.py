"""Who listens to the feed hears all, then what changes, and is never left waiting."""

import asyncio
import threading
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import NotReadyError, TooManyError
from penstock.server.page.live import feed as feeds
from penstock.server.page.live.feed import MOST_SHARE, Feed, pause_after
from tests.unit.server.page.live.samples import seen

NOBODY: Any = SimpleNamespace(connection=SimpleNamespace(system=SimpleNamespace(inspected=None)))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Feed:
    """Return a feed that the test steps by hand, a second a sample."""
    at = iter(range(1, 1_000))
    monkeypatch.setattr(feeds, "sample", lambda _: seen(float(next(at)), queries={"q": {}}))
    return Feed(NOBODY)


def kind(told: bytes) -> bytes:
    return told.partition(b"\n")[0]


async def heard(listening: AsyncIterator[bytes]) -> bytes:
    return kind(await asyncio.wait_for(anext(listening), 20))


def test_a_listener_hears_everything_first_and_then_what_changes(made: Feed) -> None:
    async def listens() -> list[bytes]:
        made._sample()
        listening = made.listen()
        found = [await heard(listening)]
        for _ in range(2):
            made._sample()
            found.append(await heard(listening))
        return found

    assert asyncio.run(listens()) == [b"event: all", b"event: change", b"event: change"]


def test_a_listener_that_missed_a_frame_hears_everything_again(made: Feed) -> None:
    async def listens() -> list[bytes]:
        made._sample()
        listening = made.listen()
        found = [await heard(listening)]
        for _ in range(3):
            made._sample()
        found.append(await heard(listening))
        made._sample()
        found.append(await heard(listening))
        return found

    assert asyncio.run(listens()) == [b"event: all", b"event: all", b"event: change"]


def test_listeners_are_told_that_the_feed_is_there_and_sent_away_when_it_stops(
    made: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "SILENT_SECONDS", 0.01)

    async def listens() -> list[bytes]:
        listening = made.listen()
        found = [await heard(listening)]
        made.stop()
        return found + [kind(told) async for told in listening]

    assert asyncio.run(listens()) == [b": still there"]


def test_samples_are_taken_by_one_thread_that_ends_with_the_feed(made: Feed) -> None:
    async def listens() -> bytes:
        return await heard(made.listen())

    made.start()
    assert asyncio.run(listens()) == b"event: all"
    made.stop()
    for each in [each for each in threading.enumerate() if each.name == "penstock-feed"]:
        each.join(20)
        assert not each.is_alive()


@pytest.mark.parametrize("error", [KeyError("s"), RuntimeError("changed"), NotReadyError("later")])
def test_a_sample_that_failed_is_taken_again(
    made: Feed, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(feeds, "sample", fail)
        assert made._sample() == 0.0
    made._sample()
    assert made.samples == 1


def test_only_so_many_listen(made: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MOST_LISTENERS", 1)

    async def listens() -> None:
        made._sample()
        made.require_room()
        listening = made.listen()
        await anext(listening)
        with pytest.raises(TooManyError):
            made.require_room()
        await listening.aclose()  # type: ignore[attr-defined]  # it is a generator
        made.require_room()

    asyncio.run(listens())


@given(st.floats(0, 100))
def test_samples_take_at_most_their_share_of_a_core(took: float) -> None:
    pause = pause_after(took)
    assert pause >= 0
    assert took <= (took + pause) * MOST_SHARE * 1.000001
