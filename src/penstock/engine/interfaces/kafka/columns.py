"""What stands beside records' values as columns: key, headers, time, place."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message


def column_of(what: str, kind: pa.DataType, messages: Sequence[Message]) -> pa.Array:
    """Return what stands beside records as a column; UnicodeDecodeError where it is no text."""
    as_text = pa.types.is_string(kind) or (
        pa.types.is_map(kind) and pa.types.is_string(kind.item_type)
    )
    return pa.array(_TAKEN[what](messages, as_text), kind)


def _keys(messages: Sequence[Message], as_text: bool) -> list[Any]:
    return [_content(message.key(), as_text) for message in messages]


def _headers(messages: Sequence[Message], as_text: bool) -> list[Any]:
    """Return headers as maps; of equal names the last one counts."""
    return [
        list({name: _content(value, as_text) for name, value in _given(message)}.items())
        for message in messages
    ]


def _given(message: Message) -> list[tuple[str, Any]]:
    headers: Any = message.headers()
    return headers or []


def _times(messages: Sequence[Message], _: bool) -> list[Any]:
    return [
        None if kind == TIMESTAMP_NOT_AVAILABLE else at * 1000
        for kind, at in (message.timestamp() for message in messages)
    ]


def _content(given: Any, as_text: bool) -> Any:
    if isinstance(given, str):
        return given if as_text else given.encode()
    return given.decode() if as_text and given is not None else given


_TAKEN: dict[str, Callable[[Sequence[Message], bool], list[Any]]] = {
    "key_column": _keys,
    "headers_column": _headers,
    "timestamp_column": _times,
    "topic_column": lambda messages, _: [message.topic() for message in messages],
    "partition_column": lambda messages, _: [message.partition() for message in messages],
    "offset_column": lambda messages, _: [message.offset() for message in messages],
}
