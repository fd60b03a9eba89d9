"""Aggregates that users write in Python: four functions and three kinds of types."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.errors import BadOptionError
from penstock.model.own_names import own


@dataclass(frozen=True, slots=True)
class UserAggregate:
    """An aggregate in Python: four functions, and the SQL types of what goes in and out.

    Tuples come in any order and in batches of any size, so `merge` has to give the same whichever
    way they were grouped. After a crash the same tuples are asked about again, and the answer has
    to be the same.

    Attributes:
        name: the name that SQL calls it by: letters, digits and underscores.
        init: `init()` returns the state of no tuples.
        update: `update(state, *arrays)` returns the state with more tuples, whose arguments come
            as Arrow arrays.
        merge: `merge(state, other)` returns the state of the tuples of both.
        finish: `finish(state)` returns the answer.
        takes: the SQL types of the arguments, such as `("double",)`.
        state: the SQL type of a state, such as `"struct<n: bigint, total: double>"`.
        returns: the SQL type of the answer.
        deterministic: False for one that may answer otherwise for the same tuples; only one-time
            SELECTs may call it.
    """

    name: str
    init: Callable[[], Any]
    update: Callable[..., Any]
    merge: Callable[[Any, Any], Any]
    finish: Callable[[Any], Any]
    takes: tuple[str, ...]
    state: str
    returns: str
    deterministic: bool = True

    def __post_init__(self) -> None:
        """Refuse a name that SQL cannot call, and an aggregate of nothing."""
        if not (self.name.isascii() and self.name.isidentifier()):
            raise BadOptionError(
                f"an aggregate cannot be called {self.name!r}",
                hint="take letters, digits and underscores",
            )
        if not self.takes:
            raise BadOptionError(
                f"aggregate {self.name} takes nothing", hint="such as takes=['double']"
            )

    @property
    def types(self) -> tuple[tuple[str, ...], str, str]:
        """Return what must stay as it is while queries use the aggregate."""
        return self.takes, self.state, self.returns

    def part(self, of: str) -> str:
        """Return the name under which Spark knows one of its functions."""
        return own(f"{self.name.lower()}_{of}")
