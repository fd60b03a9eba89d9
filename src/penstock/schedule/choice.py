"""Choices: a strategy or batching rule by its name and parameters, and how it is made of them."""

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from penstock.errors import BadOptionError, UnknownOptionError
from penstock.model.definitions import Expression, Option, Secret

WORD = re.compile(r"`?(\w+)`?")
T = TypeVar("T")
Parameter = float | str


@dataclass(frozen=True, slots=True)
class Choice:
    """A name of a registry, and parameters for what has that name."""

    name: str
    parameters: tuple[tuple[str, Parameter], ...] = ()

    def text(self) -> str:
        """Return it as SET takes it."""
        given = ", ".join(f"{name} => {_literal(value)}" for name, value in self.parameters)
        return f"{self.name} WITH ({given})" if given else self.name


def choice_of(name: str, options: Iterable[tuple[str, Option]]) -> Choice:
    """Return what SET names, with options as strategies take them."""
    return Choice(name, tuple((each, _parameter(each, value)) for each, value in options))


def make(kinds: Mapping[str, type[T]], what: str, choice: Choice) -> T:
    """Return a new one of that name, with the parameters that it takes.

    Raise what is wrong with the name, a parameter or a value, with what there is instead.
    """
    if choice.name not in kinds:
        raise UnknownOptionError(
            f"no {what} {choice.name}", hint=f"there are: {', '.join(sorted(kinds))}"
        )
    kind = kinds[choice.name]
    taken = inspect.signature(kind).parameters
    for name, value in choice.parameters:
        if name not in taken:
            raise UnknownOptionError(
                f"{what} {choice.name} takes no {name}",
                hint=f"it takes: {', '.join(taken)}" if taken else "it takes no parameters",
            )
        if isinstance(value, str) != isinstance(taken[name].default, str):
            wanted = "a word" if isinstance(taken[name].default, str) else "a number"
            raise BadOptionError(f"{name} of {what} {choice.name} must be {wanted}")
    given: dict[str, Any] = dict(choice.parameters)
    if missing := [n for n, each in taken.items() if each.default is each.empty and n not in given]:
        raise BadOptionError(
            f"{what} {choice.name} needs {', '.join(missing)}",
            hint=f"SET {what.upper()} {choice.name} WITH ({missing[0]} => …)",
        )
    return kind(**given)


def _literal(value: Parameter) -> str:
    return f"'{value}'" if isinstance(value, str) else f"{value:g}"


def _parameter(name: str, value: Option) -> Parameter:
    """Return an option's value as a number, seconds, or a word."""
    match value:
        case bool() | Secret():
            raise BadOptionError(f"{name} must be a number or a word")
        case int() | float():
            return float(value)
        case timedelta():
            return value.total_seconds()
        case str():
            return value.lower()
        case Expression(sql=text):
            if (word := WORD.fullmatch(text)) is None:
                raise BadOptionError(f"{name} must be a number or a word")
            return word[1].lower()
