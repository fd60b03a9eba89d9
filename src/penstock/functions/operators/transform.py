"""Functions of one stream at work: each item, windows of items, or a branch's share of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.functions.data.items import Items, StreamType, joined
from penstock.functions.data.operator_state import OperatorState
from penstock.functions.data.windows import BySize, BySpan
from penstock.functions.operators.function import Call
from penstock.functions.operators.guard import Made, guarded, judged
from penstock.functions.operators.operator import END, InputItems, OperatorStep, Withheld, places


@dataclass(frozen=True)
class Transforming:
    """A function of each item for itself."""

    call: Call
    type: StreamType

    def fresh(self) -> OperatorState:
        """Return the state before anything came: none is needed."""
        return OperatorState()

    def step(
        self, state: OperatorState, arrivals: Sequence[InputItems], now: float
    ) -> OperatorStep:
        (arrival,) = arrivals
        parameters = self.call.parameters

        def work(start: int, stop: int) -> Made:
            run = arrival.items.slice(start, stop)
            answer = self.call.function.apply(run, **parameters)
            return numbered(judged(self.call, answer, run, self.type), run)

        made, held = worked(self.call, self.type, work, arrival.items)
        return OperatorStep(made, arrival.progress, state, held)


@dataclass(frozen=True)
class Partitioning:
    """A function that gives branch `branch` of `degree` its share."""

    call: Call
    type: StreamType
    degree: int
    branch: int

    def fresh(self) -> OperatorState:
        """Return the state before anything came: how many items have been seen."""
        return OperatorState({"seen": 0})

    def step(
        self, state: OperatorState, arrivals: Sequence[InputItems], now: float
    ) -> OperatorStep:
        (arrival,) = arrivals
        items, seen = arrival.items, state.facts["seen"]
        parameters: dict[str, Any] = self.call.parameters

        def work(start: int, stop: int) -> Made:
            run = items.slice(start, stop)
            if self.call.function.counted:
                parameters["position"] = places(seen + start, stop - start)
            answer = self.call.function.apply(run, self.degree, self.branch, **parameters)
            return numbered(judged(self.call, answer, run, self.type), run)

        made, held = worked(self.call, self.type, work, items)
        return OperatorStep(
            made, arrival.progress, OperatorState({"seen": seen + len(items)}), held
        )


@dataclass(frozen=True)
class Windowing:
    """A function of windows of items; what later windows need is carried as the tail."""

    call: Call
    given: StreamType
    type: StreamType
    cutter: BySize | BySpan

    def fresh(self) -> OperatorState:
        """Return the state before anything came: an empty tail, nothing to skip."""
        return OperatorState({"skip": 0}, {"tail": Items.none(self.given).packed()})

    def step(
        self, state: OperatorState, arrivals: Sequence[InputItems], now: float
    ) -> OperatorStep:
        (arrival,) = arrivals
        tail = Items.from_table(self.given, state.tables["tail"])
        items = joined(self.given, [tail, arrival.items])
        cut = self.cutter.cut(items, len(tail), state.facts["skip"])
        windows = cut.windows

        def work(start: int, stop: int) -> Made:
            some = windows.only(start, stop)
            answer = self.call.function.apply(some, **self.call.parameters)
            return numbered(judged(self.call, answer, some.last, self.type), some.last)

        name = self.call.function.name
        made, failing = guarded(work, len(windows), name)
        held = tuple(
            Withheld("held", name, each.cause, windows.only(each.start, each.stop).covered)
            for each in failing
        )
        rest = items.slice(cut.tail)
        progress = arrival.progress
        if self.cutter.holds_back and len(rest) and progress != END:
            progress = min(progress, int(rest.times[0]))
        out = joined(self.type, [each.items for each in made] or [Items.none(self.type)])
        return OperatorStep(
            out, progress, OperatorState({"skip": cut.skip}, {"tail": rest.packed()}), held
        )


def numbered(made: Made, source: Items) -> Made:
    """Return what was made under the numbers of what it was made of."""
    return Made(made.items.numbered(source.numbers[made.rows]), made.rows)


def worked(
    call: Call, kind: StreamType, work: Callable[[int, int], Made], items: Items
) -> tuple[Items, tuple[Withheld, ...]]:
    """Return what a function made of items, and the items that it failed on."""
    name = call.function.name
    made, failing = guarded(work, len(items), name)
    held = tuple(
        Withheld("held", name, each.cause, items.slice(each.start, each.stop)) for each in failing
    )
    return joined(kind, [each.items for each in made] or [Items.none(kind)]), held
