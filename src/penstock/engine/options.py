"""The options of a connector: declared as data, checked without Spark.

A kind takes the value as the SQL gave it and returns it as the connector wants it, or raises
ValueError with a text that goes on from "option x of y ": "must be …".
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from penstock.errors import BadOptionError, UnknownOptionError
from penstock.model.definitions import Connector, Expression, Option, Secret

# Both forms in which a timestamp literal reaches us: as it was written, and as sqlglot prints it.
TIMESTAMP_LITERAL = re.compile(
    r"\s*(?:TIMESTAMP(?:_LTZ)?\s*'([^']*)'|CAST\(\s*'([^']*)'\s+AS\s+TIMESTAMP(?:_LTZ)?\s*\))\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Kind:
    """How a value is taken; `words` says of which sort it is."""

    words: str
    take: Callable[[Option], Any]

    def __call__(self, value: Option) -> Any:
        """Return the value as the connector wants it, or raise ValueError."""
        return self.take(value)


@dataclass(frozen=True, slots=True)
class Declared:
    """What one option may hold, what holds where it is left out, and what it is about."""

    kind: Kind
    default: Any = None
    required: bool = False
    about: str = ""

    def shown_default(self) -> str:
        """Return what holds where the option is left out, as SQL writes it."""
        if self.required:
            return "required"
        return "" if self.default is None else shown(self.default)


def read_options(connector: Connector, declared: Mapping[str, Declared]) -> dict[str, Any]:
    """Return every declared option with its value, or raise what is wrong with the given ones."""
    given: dict[str, Option] = {}
    for name, value in connector.options:
        if name not in declared:
            raise UnknownOptionError(
                f"{connector.name} has no option {name}", hint=near_miss(name, declared)
            )
        if name in given:
            raise BadOptionError(f"option {name} of {connector.name} is given twice")
        given[name] = value
    return {name: _value_of(connector, name, how, given) for name, how in declared.items()}


def _value_of(connector: Connector, name: str, how: Declared, given: Mapping[str, Option]) -> Any:
    if name not in given:
        if how.required:
            raise BadOptionError(
                f"{connector.name} needs the option {name}",
                hint=f"write {connector.name}({name} => …)",
            )
        return how.default
    try:
        return how.kind(given[name])
    except ValueError as error:
        not_what = "" if how.kind is secret else f", not {shown(given[name])}"
        raise BadOptionError(f"option {name} of {connector.name} {error}{not_what}") from error


def near_miss(name: str, known: Iterable[str]) -> str:
    """Return a hint at the known name that is meant, or at all of them."""
    names = sorted(known)
    close = get_close_matches(name, names, n=1)
    return f"did you mean {close[0]}?" if close else f"there is {', '.join(names)}"


def shown(value: Option) -> str:
    """Return the value as a user would have written it."""
    match value:
        case Expression(sql):
            return sql
        case Secret(name):
            return f"secret('{name}')"
        case timedelta():
            return f"INTERVAL {value.total_seconds():g} SECONDS"
        case bool():
            return str(value).lower()
        case str():
            return f"'{value}'"
        case _:
            return str(value)


def _text(value: Option) -> str:
    """Take text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError("must be a text")
    return value


def _local_path(value: Option) -> Path:
    """Take the path of a local directory, also as file:/path."""
    path = re.sub(r"^file:(//)?(?=/)", "", _text(value))
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", path):
        raise ValueError("must be a local directory")
    return Path(path).expanduser()


def _one_character(value: Option) -> str:
    """Take a text of one character."""
    if not isinstance(value, str) or len(value) != 1:
        raise ValueError("must be one character")
    return value


def _flag(value: Option) -> bool:
    """Take true or false."""
    if not isinstance(value, bool):
        raise ValueError("must be true or false")  # noqa: TRY004 - the contract of a kind
    return value


def _interval(value: Option) -> timedelta:
    """Take a time span above zero."""
    if not isinstance(value, timedelta) or value <= timedelta(0):
        raise ValueError("must be an interval above zero, such as INTERVAL 5 SECONDS")
    return value


def _moment(value: Option) -> datetime:
    """Take a timestamp; one without a zone is UTC."""
    found = TIMESTAMP_LITERAL.fullmatch(value.sql) if isinstance(value, Expression) else None
    written = (found[1] or found[2]) if found else value
    try:
        at = datetime.fromisoformat(str(written).strip())
    except ValueError:
        raise ValueError("must be a timestamp, such as TIMESTAMP '2024-01-01 00:00:00'") from None
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def whole(*, at_least: int = 1) -> Kind:
    """Make the kind of whole numbers from `at_least` up."""

    def kind(value: Option) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
            raise ValueError(f"must be a whole number, {at_least} or more")
        return value

    return Kind(f"whole number, {at_least} or more", kind)


def number(*, least: float, most: float, words: str) -> Kind:
    """Make the kind of numbers from `least` to `most`; `words` says so."""

    def kind(value: Option) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"must be {words}")  # noqa: TRY004 - the contract of a kind
        if not math.isfinite(value) or not least <= value <= most:
            raise ValueError(f"must be {words}")
        return float(value)

    return Kind(f"number, {words}", kind)


def one_of(*choices: str) -> Kind:
    """Make the kind of a choice, whatever its case."""

    def kind(value: Option) -> str:
        if not isinstance(value, str) or value.lower() not in choices:
            raise ValueError(f"must be one of {', '.join(repr(choice) for choice in choices)}")
        return value.lower()

    return Kind(" or ".join(f"'{choice}'" for choice in choices), kind)


def _secret(value: Option) -> Secret:
    if not isinstance(value, Secret):
        raise ValueError("must be secret('NAME'), so that it stands in no definition")  # noqa: TRY004
    return value


def _maybe_secret(value: Option) -> str | Secret:
    return value if isinstance(value, Secret) else _text(value)


text = Kind("text", _text)
local_path = Kind("directory of this machine", _local_path)
one_character = Kind("one character", _one_character)
flag = Kind("true or false", _flag)
interval = Kind("interval", _interval)
moment = Kind("timestamp", _moment)
secret = Kind("secret('NAME')", _secret)
maybe_secret = Kind("text or secret('NAME')", _maybe_secret)
anything = Kind("value", lambda value: value)
