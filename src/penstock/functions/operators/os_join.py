"""OS-Join: parts of one time from all inputs become one item (GSDM-20, corrected).

Parts belong together if they have the same time and, where all inputs come from one split stream,
the same number; otherwise the k-th of a time from each input. Results are in the order of time: an
item waits for its parts, and whatever is newer waits behind it. It is given up as soon as an input
that lacks it is past it, or when its first part has waited for the time-out. Then `partial`, where
there is one, makes something of the parts that came, None in the place of the others; else they are
withheld as missed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.errors import BadFlowError
from penstock.functions.data.items import Items, Numbers, StreamType, joined
from penstock.functions.data.operator_state import OperatorState
from penstock.functions.operators.function import Call, Function, Parameter, Role
from penstock.functions.operators.guard import Made, guarded, judged
from penstock.functions.operators.operator import (
    BEGIN,
    InputItems,
    OperatorStep,
    Withheld,
    frontier,
)
from penstock.functions.operators.parts import KEY, TURN, DecidedParts, Groups, turns_of
from penstock.functions.operators.s_merge import (
    checked_timeout,
    same_columns,
    waiting_table,
    wake_of,
    with_waiting,
)

MOST_INPUTS = 62  # which inputs an item has parts of is told by the bits of a whole number


@dataclass(frozen=True)
class OSJoin:
    """The join of several inputs of one type on their time, with a function that combines."""

    given: StreamType
    type: StreamType
    inputs: int
    one_origin: bool
    combine: Call
    timeout: float | None = None
    partial: Call | None = None

    def fresh(self) -> OperatorState:
        """Return the state before anything came."""
        table = waiting_table(self.given)
        for name in (KEY, TURN):
            table = table.append_column(name, pa.array([], pa.int64()))
        return OperatorState(
            {
                "frontiers": [BEGIN] * self.inputs,
                "newest": [[BEGIN, BEGIN, 0]] * self.inputs,
                "decided": DecidedParts().to_json(),
            },
            {"waiting": table},
        )

    def step(
        self, state: OperatorState, arrivals: Sequence[InputItems], now: float
    ) -> OperatorStep:
        facts = state.facts
        frontiers = [
            frontier(each, before)
            for each, before in zip(arrivals, facts["frontiers"], strict=True)
        ]
        table, newest = self._with_keys(state, arrivals, now)
        decided = DecidedParts.from_json(facts["decided"])
        groups, late = _in_time(Groups.of(self.given, table, self.inputs), decided)
        given_up = groups.past(frontiers)
        if self.timeout is not None:
            given_up |= groups.first_arrived() + self.timeout <= now
        cut = groups.first_open(given_up)
        out, more = self._combined(groups, cut)
        rest = groups.rest(cut)
        after = {
            "frontiers": frontiers,
            "newest": newest,
            "decided": groups.decided(cut, decided).to_json(),
        }
        kept = OperatorState(after, {"waiting": rest})
        # Whoever still waits lacks a part of an input that is not past it.
        return OperatorStep(out, min(frontiers), kept, (*late, *more), wake_of(rest, self.timeout))

    def _with_keys(
        self, state: OperatorState, arrivals: Sequence[InputItems], now: float
    ) -> tuple[pa.Table, list[list[int]]]:
        newest = [list(each) for each in state.facts["newest"]]
        keys, dispatcher = [], []
        for number, arrival in enumerate(arrivals):
            items = arrival.items
            key = items.numbers if self.one_origin else np.zeros(len(items), dtype=np.int64)
            turn = turns_of(items.times, key, newest[number])
            if len(items):
                newest[number] = [int(items.times[-1]), int(key[-1]), int(turn[-1])]
            keys.append(key)
            dispatcher.append(turn)
        waiting = state.tables["waiting"]
        table = with_waiting(waiting.drop_columns([KEY, TURN]), [a.items for a in arrivals], now)
        for name, new in ((KEY, keys), (TURN, dispatcher)):
            column = np.concatenate([waiting[name].to_numpy(), *new])
            table = table.append_column(name, pa.array(column))
        return table, newest

    def _combined(self, groups: Groups, cut: int) -> tuple[Items, tuple[Withheld, ...]]:
        """Return the first `cut` items, whole or in part, and what could not be combined."""
        made: list[Items] = []
        withheld: list[Withheld] = []
        where: list[npt.NDArray[np.int64]] = []
        for pattern in np.unique(groups.patterns[:cut]).tolist():
            rows = np.flatnonzero(groups.patterns[:cut] == pattern)
            whole = pattern == groups.full
            call = self.combine if whole else self.partial
            if call is None:
                lacking = ", ".join(map(str, groups.lacking(pattern)))
                cause = f"no part came from input {lacking}"
                withheld.append(Withheld("missed", "os_join", cause, groups.parts(rows)))
                continue
            some, held = self._called(call, groups, rows, pattern)
            withheld += held
            for each in some:
                made.append(each.items)
                where.append(each.rows)
        if not made:
            return Items.none(self.type), tuple(withheld)
        order = np.argsort(np.concatenate(where), kind="stable")
        return joined(self.type, made).take(order), tuple(withheld)

    def _called(
        self, call: Call, groups: Groups, rows: Numbers, pattern: int
    ) -> tuple[list[Made], list[Withheld]]:
        def work(start: int, stop: int) -> Made:
            parts = groups.aligned(rows[start:stop], pattern)
            first = next(each for each in parts if each is not None)
            answer = call.function.apply(parts, **call.parameters)
            made = judged(call, answer, first, self.type)
            numbers = first.numbers[made.rows]
            return Made(made.items.numbered(numbers), rows[start:stop][made.rows])

        made, failing = guarded(work, len(rows), call.function.name)
        held = [
            Withheld(
                "held", call.function.name, each.cause, groups.parts(rows[each.start : each.stop])
            )
            for each in failing
        ]
        return made, held


def _in_time(groups: Groups, decided: DecidedParts) -> tuple[Groups, tuple[Withheld, ...]]:
    """Return the groups that are not decided yet, and the parts of the others as late."""
    late = groups.is_behind(decided)
    if not late.any():
        return groups, ()
    parts = groups.parts(np.flatnonzero(late))
    return groups.only(~late), (Withheld("late", "os_join", "its item has been decided", parts),)


def _made(
    types: Sequence[StreamType],
    one_origin: bool,
    *,
    combine: Call,
    timeout: float | None,
    partial: Call | None,
) -> OSJoin:
    if len(types) > MOST_INPUTS:
        raise BadFlowError(
            f"os_join has {len(types)} inputs, and can have {MOST_INPUTS}",
            hint="nest templates to a tree: pcc(8, part, pcc(8, part, f, join), join)",
        )
    given = same_columns("os_join", types)
    parameters = {"combine": combine, "timeout": timeout, "partial": partial}
    return OSJoin(
        given, _result(given, parameters), len(types), one_origin, combine, timeout, partial
    )


def _result(given: StreamType, parameters: Mapping[str, Any]) -> StreamType:
    checked_timeout("os_join", parameters["timeout"])
    combine: Call = parameters["combine"]
    partial: Call | None = parameters["partial"]
    for each in (combine, partial):
        if each is not None and each.role is not Role.COMBINE:
            raise BadFlowError(
                f"os_join cannot combine by {each.function.name}: that is a {each.role.value}",
                hint="such as os_join(fft3_combine)",
            )
    kind = combine.function.result_type(given, combine.parameters)
    if partial is not None:
        same_columns("os_join", (kind, partial.function.result_type(given, partial.parameters)))
    return kind


os_join = Function(
    "os_join",
    Role.MERGE,
    _made,
    _result,
    parameters=(
        Parameter("combine", Call),
        Parameter("timeout", float, None),
        Parameter("partial", Call, None),
    ),
)
