"""Calls of functions that may fail: what they fail on is found and held, the rest goes on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.errors import FunctionError, PenstockError, RunError, TypeMismatchError, describe
from penstock.functions.data.items import Items, StreamType
from penstock.functions.operators.function import Call


@dataclass(frozen=True, eq=False)
class Made:
    """Items that a function made, and the place of the item that each was made of."""

    items: Items
    rows: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Culprit:
    """Rows on which a function fails, and how."""

    start: int
    stop: int
    cause: str


def guarded(
    work: Callable[[int, int], Made], rows: int, name: str
) -> tuple[list[Made], list[Culprit]]:
    """Return what `work(start, stop)` makes of all rows but those that it fails on.

    A failing run of rows is halved until the rows are known that fail alone. Numbers that are not
    finite are carried, not warned of.
    """
    made: list[Made] = []
    failing: list[Culprit] = []
    open_runs = [(0, rows)] if rows else []
    with np.errstate(all="ignore"):
        while open_runs:
            start, stop = open_runs.pop()
            try:
                made.append(work(start, stop))
            except RunError:  # who runs the function failed, not the function
                raise
            except (Exception, SystemExit) as error:  # a user's function may raise anything
                if stop - start == 1:
                    _add(failing, Culprit(start, stop, cause_of(name, error)))
                else:
                    middle = (start + stop) // 2
                    open_runs += [(middle, stop), (start, middle)]
    return made, failing


def _add(failing: list[Culprit], new: Culprit) -> None:
    """Add a culprit: to the one before it, if that is its neighbour and has the same cause."""
    if failing and failing[-1].stop == new.start and failing[-1].cause == new.cause:
        failing[-1] = Culprit(failing[-1].start, new.stop, new.cause)
    else:
        failing.append(new)


def cause_of(name: str, error: BaseException) -> str:
    """Return what a held item is held for."""
    inner = error.message if isinstance(error, PenstockError) else describe(error)
    return str(FunctionError(f"{name}: {inner}"))


def judged(call: Call, answer: Any, items: Items, kind: StreamType) -> Made:
    """Return what a function answered about items as Made, or refuse what was not declared."""
    if isinstance(answer, np.ndarray) and answer.dtype == np.bool_:
        if answer.shape != (len(items),):
            raise TypeMismatchError(
                f"{len(items)} items went in, a mask of shape {answer.shape} came out",
                hint="give one truth value for each item",
            )
        answer = Made(items.take(answer), np.flatnonzero(answer))
    if isinstance(answer, Items):
        if len(answer) != len(items):
            raise TypeMismatchError(
                f"{len(items)} items went in, {len(answer)} came out",
                hint="return Made(items, rows) where a function gives more or fewer",
            )
        answer = Made(answer, np.arange(len(items), dtype=np.int64))
    if not isinstance(answer, Made):
        raise TypeMismatchError(
            f"{call.function.name} returned {type(answer).__name__}",
            hint="return items, a mask of them, or Made(items, rows)",
        )
    return Made(fitting(answer.items, kind), answer.rows)


def fitting(items: Items, kind: StreamType) -> Items:
    """Return items as the declared type, or refuse those that are something else."""
    names = [each.name for each in kind.columns]
    if items.table.column_names != names:
        raise TypeMismatchError(
            f"{', '.join(items.table.column_names)} came out, not {', '.join(names)}",
            hint=f"return items of type {kind.name}",
        )
    for name, column in zip(names, items.table.columns, strict=True):
        if name in kind.vectors:
            fits = pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)
            fits = fits and items.type.vectors.get(name) is kind.vectors[name]
        else:
            fits = kind.field(name).type == items.type.field(name).type
        if not fits:
            raise TypeMismatchError(
                f"{name} came out as {items.type[name].type}, not {kind[name].type}",
                hint=f"return items of type {kind.name}",
            )
    return items if items.type == kind else Items(kind, items.table, items.numbers)
