"""Aggregates that users write in Python: four functions and three kinds of types."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.errors import BadOptionError
from penstock.model.own_names import own


@dataclass(frozen=True, slots=True)
class UserAggregate:
    """An aggregate whose state is a value of the SQL type `state`.

    `init()` gives the state of no tuple, `update(state, *arrays)` that with more tuples, whose
    arguments come as Arrow arrays of the types in `takes`, `merge(state, state)` that of both
    together, and `finish(state)` the answer, a value of the SQL type `returns`. Tuples come in
    no certain order and in any cut. After a crash the same tuples are asked about again, and the
    answer has to be the same; one that is not `deterministic` is for one-time SELECTs alone.
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
