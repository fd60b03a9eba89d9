"""Modifiers: functions of two consecutive tuples of a partition (decision 0006, ANA-22)."""

from itertools import pairwise
from typing import Any, Literal, NamedTuple

from tests.e2e.reference.windows import Row, partitions

Profile = Literal["N", "O"]


class Step(NamedTuple):
    """Two consecutive tuples, and the one whose values the other columns show."""

    old: Row
    new: Row
    shown: Row


def steps(rows: list[Row], keys: tuple[str, ...] = (), profile: Profile = "N") -> list[Step]:
    """Return the steps of every partition; each is one row of the answer."""
    return [
        Step(old, new, new if profile == "N" else old)
        for part in partitions(rows, keys)
        for old, new in pairwise(part)
    ]


def adiff(step: Step, x: str) -> Any:
    """x_new − x_old."""
    old, new = step.old[x], step.new[x]
    return None if old is None or new is None else new - old


def rdiff(step: Step, x: str, *, pseudo: Any = None) -> Any:
    """(x_new − x_old) / x_old."""
    return _ratio(adiff(step, x), step.old[x], pseudo)


def aslope(step: Step, y: str, x: str, *, pseudo: Any = None) -> Any:
    """(y_new − y_old) / (x_new − x_old)."""
    return _ratio(adiff(step, y), adiff(step, x), pseudo)


def _ratio(above: Any, below: Any, pseudo: Any) -> Any:
    divisor = pseudo if below == 0 else below
    return None if above is None or divisor is None else above / divisor
