"""What is read of a client before it is answered."""

import asyncio
from typing import cast

from penstock.server.pg.channel import Channel
from penstock.server.pg.wire.messages import Query, Terminate


async def read_ahead(most: int, texts: list[str]) -> tuple[int, list[str]]:
    """Return how many messages were read before the first was taken, and all of them."""
    reader = asyncio.StreamReader()
    channel = Channel(reader, cast("asyncio.StreamWriter", None), most)
    channel.trust()
    channel.start(lambda: None)
    for text in texts:
        reader.feed_data(Query(text).encoded())
        for _ in range(10):
            await asyncio.sleep(0)
    unread = len(reader._buffer)  # type: ignore[attr-defined]  # nothing else tells what waits
    reader.feed_eof()
    found = []
    while not isinstance(message := await channel.next(), Terminate):
        assert isinstance(message, Query)
        found.append(message.text)
    size = len(Query(texts[0]).encoded())
    return len(texts) - unread // size, found


def test_messages_that_wait_are_bounded_by_their_bytes_and_none_is_lost() -> None:
    texts = [f"{number}{'x' * 999}" for number in range(10)]
    assert asyncio.run(read_ahead(2_000, texts)) == (2, texts)
    assert asyncio.run(read_ahead(1 << 20, texts)) == (10, texts)
