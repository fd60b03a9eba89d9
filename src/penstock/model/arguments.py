"""What calls from Python take: checked where they come in, so that nothing fails far behind."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

from penstock.errors import BadArgumentError, quoted_value


@dataclass(frozen=True, slots=True)
class ArgumentKind:
    """A kind of values, in words that go on from "must be"."""

    words: str
    fits: Callable[[object], bool]

    def or_none(self) -> "ArgumentKind":
        """Return the kind that None belongs to as well."""
        return ArgumentKind(
            f"{self.words}, or None", lambda value: value is None or self.fits(value)
        )


def instance_of(words: str, *types: type) -> ArgumentKind:
    """Return the kind of all instances of some types."""
    return ArgumentKind(words, lambda value: isinstance(value, types))


def many(words: str, of: ArgumentKind) -> ArgumentKind:
    """Return the kind of sequences of a kind; text is no sequence."""
    return ArgumentKind(
        words,
        lambda value: (
            isinstance(value, Sequence)
            and not isinstance(value, str | bytes)
            and all(map(of.fits, value))
        ),
    )


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_seconds(value: object) -> bool:
    return (_is_whole(value) or isinstance(value, float)) and not math.isnan(value)  # type: ignore[arg-type]  # the checks before say that it is a number


def _is_actions(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and callable(function) for name, function in value.items()
    )


TEXT = instance_of("text", str)
BYTES = instance_of("bytes", bytes)
TEXTS = many("a list of texts", TEXT)
FLAG = instance_of("True or False", bool)
FUNCTION = ArgumentKind("something that can be called", callable)
ACTIONS = ArgumentKind("a mapping of names to functions", _is_actions)
SECONDS = ArgumentKind("a number of seconds", _is_seconds)
WHOLE = ArgumentKind("a whole number", _is_whole)
ABOVE_ZERO = ArgumentKind("a whole number above zero", lambda v: _is_whole(v) and v > 0)  # type: ignore[operator]  # a whole number can be compared
PATH = ArgumentKind(
    "a path",
    lambda v: isinstance(v, str | PathLike) and bool(str(v).strip()) and "\0" not in str(v),
)
POSITION = ArgumentKind(
    "a row's position, which is a pair of whole numbers",
    lambda value: isinstance(value, tuple) and len(value) == 2 and all(map(_is_whole, value)),  # noqa: PLR2004
)


def require(call: str, /, **given: tuple[object, ArgumentKind]) -> None:
    """Raise BadArgumentError with the first argument of a call that is not of its kind."""
    for name, (value, kind) in given.items():
        if not kind.fits(value):
            raise BadArgumentError(
                f"{name} of {call} must be {kind.words}, not {quoted_value(value)}",
                hint=f"help({call}) says what it takes",
            )
