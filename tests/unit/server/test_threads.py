"""Lanes: what waits for its turn, what has begun, and what is cancelled of either."""

import asyncio
import threading

import pytest

from penstock.engine.spark.jobs.cancellation import Cancellation, current
from penstock.errors import CancelledError, TooManyError
from penstock.server.threads import Lane


async def begun(of: threading.Event) -> None:
    """Return once something has begun in a thread."""
    assert await asyncio.to_thread(of.wait, 60)


async def scene(lane: Lane) -> list[str]:
    """Cancel what waits behind the only thread, and then what that does; say what was done."""
    done = list[str]()
    here, go_on = threading.Event(), threading.Event()

    def long() -> None:
        here.set()
        assert go_on.wait(60)
        cancellation = current()
        assert cancellation is not None
        done.append(f"long, {'' if cancellation.is_cancelled else 'not '}cancelled")

    first, second, third = Cancellation(), Cancellation(), Cancellation()
    doing = asyncio.ensure_future(lane.do_unless(first, long))
    await begun(here)
    waiting = asyncio.ensure_future(lane.do_unless(second, lambda: done.append("second")))
    await asyncio.sleep(0)  # it has its place in the lane
    with pytest.raises(TooManyError):
        await lane.do(lambda: done.append("one too many"))
    second.cancel()
    with pytest.raises(CancelledError):
        await waiting
    # Its place is free again.
    behind = asyncio.ensure_future(lane.do_unless(third, lambda: done.append("third")))
    await asyncio.sleep(0)
    first.cancel()
    go_on.set()
    await asyncio.gather(doing, behind)
    return done


def test_what_is_cancelled_while_it_waits_leaves_at_once_and_is_not_done() -> None:
    lane = Lane("tried", threads=1, waiting=1)
    try:
        done = asyncio.run(scene(lane))
    finally:
        lane.close()
    assert done == ["long, cancelled", "third"]


def test_what_is_over_can_be_cancelled_without_harm() -> None:
    lane, cancellation = Lane("tried", threads=1, waiting=1), Cancellation()
    try:
        assert asyncio.run(lane.do_unless(cancellation, lambda: 7)) == 7
    finally:
        lane.close()
    cancellation.cancel()
