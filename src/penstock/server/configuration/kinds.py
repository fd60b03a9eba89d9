"""Kinds of settings: what a value is read from, and how it is written again.

A file of TOML has values of their own types; the environment and the command line have text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.database.place import without_password

Value = Any  # what one kind of setting gives: text, a number, a tuple, a mapping

SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
LENGTH = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*(ms|s|m|h|d)?")
BYTES = {"": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
SIZE = re.compile(r"(\d{1,12})\s*(kib|mib|gib)?")
TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
NONE = ("", "none")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Kind:
    """`words` say what a value is; `read` takes one or raises, `write` gives it as TOML has it.

    What `read` raises is a ValueError or a TypeError.
    """

    words: str
    read: Callable[[Any], Value]
    write: Callable[[Value], str]


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError
    return given


def _flag(given: Any) -> bool:
    if isinstance(given, bool):
        return given
    if str(given).lower() not in TRUTHS:
        raise ValueError
    return TRUTHS[str(given).lower()]


def _whole(least: int, most: int) -> Callable[[Any], int]:
    def read(given: Any) -> int:
        if isinstance(given, bool | float):
            raise TypeError
        number = int(given)
        if not least <= number <= most:
            raise ValueError
        return number

    return read


def _seconds(given: Any) -> float:
    if isinstance(given, bool):
        raise TypeError
    found = LENGTH.fullmatch(str(given).strip().lower())
    length = float(found[1]) * SECONDS[found[2] or "s"] if found else 0.0
    if length <= 0:
        raise ValueError
    return length


def _told(seconds: float) -> str:
    return f"{seconds:.6f}".rstrip("0").rstrip(".") + "s"


def _bytes(given: Any) -> int:
    found = SIZE.fullmatch(str(given).strip().lower())
    size = int(found[1]) * BYTES[found[2] or ""] if found else 0
    if isinstance(given, bool) or size <= 0:
        raise ValueError
    return size


def _texts(given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        given = [part.strip() for part in given.split(",") if part.strip()]
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
        raise ValueError
    return tuple(given)


def _pairs(given: Any) -> tuple[tuple[str, str], ...]:
    """Return names and texts: a table of TOML, `name=value,name=value`, or a list of such."""
    if isinstance(given, str):
        given = [part for part in given.split(",") if part.strip()]
    if isinstance(given, list):
        parts = [_text(part).partition("=") for part in given]
        if not all(name.strip() and equals for name, equals, _ in parts):
            raise ValueError
        given = {name.strip(): value.strip() for name, _, value in parts}
    if not isinstance(given, dict):
        raise TypeError
    return tuple(sorted(_flat(given)))


def _flat(table: dict[str, Any], before: str = "") -> list[tuple[str, str]]:
    """Return a table's entries: what TOML reads as tables in tables is a name with dots."""
    found: list[tuple[str, str]] = []
    for name, value in table.items():
        if isinstance(value, dict):
            found += _flat(value, f"{before}{name}.")
        elif isinstance(value, bool):
            found.append((before + name, str(value).lower()))
        elif isinstance(value, str | int | float):
            found.append((before + name, str(value)))
        else:
            raise TypeError
    return found


def quoted(text: str) -> str:
    """Return a text as TOML writes it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", escaped) + '"'


def _list(values: tuple[str, ...]) -> str:
    return f"[{', '.join(map(quoted, values))}]"


def _table(pairs: tuple[tuple[str, str], ...]) -> str:
    inside = ", ".join(f"{quoted(name)} = {quoted(value)}" for name, value in pairs)
    return f"{{{inside}}}"


def one_of(*words: str) -> Kind:
    """Return the kind of a setting that is one of these words."""

    def read(given: Any) -> str:
        if given not in words:
            raise ValueError
        return str(given)

    return Kind(f"one of {', '.join(words)}", read, quoted)


def or_none(kind: Kind) -> Kind:
    """Return the kind whose value may be missing: `none`, or an empty text."""

    def read(given: Any) -> Value:
        return None if isinstance(given, str) and given.lower() in NONE else kind.read(given)

    words = f'{kind.words}, or "none"'
    return Kind(words, read, lambda value: '"none"' if value is None else kind.write(value))


def whole(least: int, most: int) -> Kind:
    """Return the kind of whole numbers in bounds."""
    return Kind(f"a whole number from {least:,} to {most:,}", _whole(least, most), str)


TEXT = Kind("a text", _text, quoted)
SECRET_URL = Kind("a URL", _text, lambda value: quoted(without_password(value)))
TEXTS = Kind("a list of texts", _texts, _list)
PAIRS = Kind("a table of names and values", _pairs, _table)
FLAG = Kind("true or false", _flag, lambda value: str(value).lower())
LENGTH_OF_TIME = Kind(
    "a length of time above zero, such as 30s or 5m", _seconds, lambda value: quoted(_told(value))
)
BYTE_SIZE = Kind("a number of bytes above zero, such as 64MiB", _bytes, str)
PORT = whole(0, 65_535)
