"""Wire: messages as bytes, bundled and bounded, with the version that both sides have to speak."""

import json
from collections.abc import Iterable
from dataclasses import fields
from typing import Any, get_args

from penstock.errors import BadRequestError
from penstock.place.relocation.messages import Message

VERSION = 1
MOST_BYTES = 64 * 1024  # of a bundle
_KINDS: dict[str, type[Message]] = {kind.__name__: kind for kind in get_args(Message)}


def bundles(messages: Iterable[Message], most_bytes: int = MOST_BYTES) -> list[bytes]:
    """Return messages in as few bundles as there can be, in order; a long one goes by itself."""
    found: list[bytes] = []
    parts: list[str] = []
    for text in map(_text, messages):
        if parts and len(_bundle([*parts, text])) > most_bytes:
            found.append(_bundle(parts))
            parts = []
        parts.append(text)
    return [*found, _bundle(parts)] if parts else found


def read_bundle(data: bytes) -> list[Message]:
    """Return the messages of a bundle; raise where it is none, or of another version."""
    try:
        whole = json.loads(data)
        version, parts = whole["version"], whole["messages"]
        if version == VERSION:
            return [_message(part) for part in parts]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise BadRequestError(f"a bundle of messages cannot be read: {error}") from error
    raise BadRequestError(
        f"a bundle of version {version!r} came, and this is version {VERSION}",
        hint="run the same version of Penstock on all processors",
    )


def _bundle(parts: Iterable[str]) -> bytes:
    return f'{{"version":{VERSION},"messages":[{",".join(parts)}]}}'.encode()


def _text(message: Message) -> str:
    values = [getattr(message, each.name) for each in fields(message)]
    return json.dumps([type(message).__name__, *values], separators=(",", ":"))


def _message(part: list[Any]) -> Message:
    kind = _KINDS[part[0]]
    expected = [each.type for each in fields(kind)]
    values = [_value(value, type_) for value, type_ in zip(part[1:], expected, strict=True)]
    return kind(*values)


def _value(value: Any, expected: Any) -> Any:
    """Return a value of the type that its field has; raise TypeError for any other."""
    if expected is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if expected in {str, int} and type(value) is expected:
        return value
    if expected not in {str, int, float} and isinstance(value, list):
        return tuple((_value(name, str), _value(number, int)) for name, number in value)
    raise TypeError(f"{value!r} does not fit")
