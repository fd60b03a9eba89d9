"""S-Merge: streams that are ordered by time become one that is (GSDM-19, corrected).

An item goes on as soon as no input can bring an older one, that is, when every input has shown, by
an item or by its progress, that it is past it; or when the item has waited for the time-out. What
comes after something newer has gone on is late: it is counted and withheld.

Law: an item that comes sooner than the time-out after every newer one is never late. The time-out
is each item's own, so that a silent input delays and does not throttle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.errors import BadOptionError, TypeMismatchError
from penstock.functions.data.items import Items, StreamType
from penstock.functions.data.operator_state import OperatorState
from penstock.functions.operators.function import Function, Parameter, Role
from penstock.functions.operators.operator import (
    BEGIN,
    InputItems,
    OperatorStep,
    Withheld,
    frontier,
)
from penstock.model.own_names import own

INPUT, ARRIVED = own("input"), own("arrived")


@dataclass(frozen=True)
class SMerge:
    """The ordered union of several inputs of one type."""

    type: StreamType
    inputs: int
    timeout: float | None

    def fresh(self) -> OperatorState:
        """Return the state before anything came."""
        return OperatorState(
            {"frontiers": [BEGIN] * self.inputs, "last": BEGIN},
            {"waiting": waiting_table(self.type)},
        )

    def step(
        self, state: OperatorState, arrivals: Sequence[InputItems], now: float
    ) -> OperatorStep:
        last = state.facts["last"]
        frontiers = [
            frontier(each, before)
            for each, before in zip(arrivals, state.facts["frontiers"], strict=True)
        ]
        fresh, late = _in_time(arrivals, last)
        table = with_waiting(state.tables["waiting"], fresh, now)
        items = Items.from_table(self.type, table)
        order = np.lexsort((table[INPUT].to_numpy(), items.numbers, items.times))
        reached = min(frontiers)
        expired = BEGIN
        if self.timeout is not None and len(items):
            over = table[ARRIVED].to_numpy() + self.timeout <= now
            expired = int(items.times[over].max()) if over.any() else BEGIN
        ready = int(np.searchsorted(items.times[order], max(reached, expired), side="right"))
        out = items.take(order[:ready])
        rest = table.take(pa.array(order[ready:]))
        if ready:
            last = max(last, int(out.times[-1]))
        kept = OperatorState({"frontiers": frontiers, "last": last}, {"waiting": rest})
        withheld = tuple(
            Withheld("late", "s_merge", "older than what has gone on", each) for each in late
        )
        return OperatorStep(out, max(reached, last), kept, withheld, wake_of(rest, self.timeout))


def _in_time(arrivals: Sequence[InputItems], last: int) -> tuple[list[Items], list[Items]]:
    fresh, late = [], []
    for each in arrivals:
        behind = each.items.times < last
        fresh.append(each.items.take(~behind) if behind.any() else each.items)
        if behind.any():
            late.append(each.items.take(behind))
    return fresh, late


def waiting_table(kind: StreamType) -> pa.Table:
    """Return no items, as those are kept that wait for other inputs."""
    none = Items.none(kind).packed()
    return none.append_column(INPUT, pa.array([], pa.int32())).append_column(
        ARRIVED, pa.array([], pa.float64())
    )


def with_waiting(waiting: pa.Table, fresh: Sequence[Items], now: float) -> pa.Table:
    """Return what waits, with what has come from each input since."""
    parts = [waiting] if waiting.num_rows else []
    for number, items in enumerate(fresh):
        if len(items):
            table = items.packed()
            inputs = pa.array(np.full(len(items), number, dtype=np.int32))
            table = table.append_column(INPUT, inputs)
            parts.append(table.append_column(ARRIVED, pa.array(np.full(len(items), now))))
    if not parts:
        return waiting
    return pa.concat_tables(parts, promote_options="permissive")


def wake_of(waiting: pa.Table, timeout: float | None) -> float | None:
    """Return when the first of those that wait has waited for too long."""
    if timeout is None or not waiting.num_rows:
        return None
    return float(waiting[ARRIVED].to_numpy().min()) + timeout


def same_columns(name: str, types: Sequence[StreamType]) -> StreamType:
    """Return the type of all inputs, or refuse inputs of different ones."""
    first = types[0]
    for number, each in enumerate(types):
        if each.columns != first.columns or each.ordering != first.ordering:
            raise TypeMismatchError(
                f"input {number} of {name} has items of type {each.name}, input 0 of {first.name}",
                hint="all inputs need the same columns in the same order",
            )
    return first


def checked_timeout(name: str, timeout: float | None) -> None:
    """Refuse a time-out that is none."""
    if timeout is not None and not timeout >= 0:
        raise BadOptionError(f"{name} cannot wait for {timeout} seconds", hint="at least 0")


def _made(types: Sequence[StreamType], _one_origin: bool, *, timeout: float | None) -> SMerge:
    checked_timeout("s_merge", timeout)
    return SMerge(same_columns("s_merge", types), len(types), timeout)


def _same(given: StreamType, parameters: Mapping[str, Any]) -> StreamType:
    checked_timeout("s_merge", parameters["timeout"])
    return given


s_merge = Function(
    "s_merge", Role.MERGE, _made, _same, parameters=(Parameter("timeout", float, None),)
)
