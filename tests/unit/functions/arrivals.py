"""Streams in pieces, with silent, slow and lost inputs; and what merges do, by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from penstock.functions import Items
from penstock.functions.data.operator_state import from_bytes, to_bytes
from penstock.functions.operators.operator import BEGIN, END, FlowOperator, InputItems, OperatorStep
from tests.unit.functions.worlds import READING

Key = tuple[int, int, int]


@dataclass(frozen=True)
class Part:
    """An item of one input: its time, its number, and the step in which it comes."""

    time: int
    number: int
    step: int


@dataclass(frozen=True)
class History:
    """What comes when: parts by input, the time of each step, and which inputs tell progress."""

    inputs: tuple[tuple[Part, ...], ...]
    moments: tuple[float, ...]
    telling: tuple[bool, ...]
    ended: bool

    def progress(self, at: int, step: int) -> int:
        """Return how far an input can say that it is: up to what it still has."""
        later = [part.time for part in self.inputs[at] if part.step > step]
        if not later and self.ended:
            return END
        if not self.telling[at] or not later:
            return BEGIN
        return min(later)

    def arrivals(self, step: int) -> list[InputItems]:
        made = []
        for at, parts in enumerate(self.inputs):
            now = [part for part in parts if part.step == step]
            items = READING(
                at=[part.time for part in now], value=[float(part.number) for part in now]
            ).numbered(np.array([part.number for part in now], dtype=np.int64))
            made.append(InputItems(items, self.progress(at, step)))
        return made


@st.composite
def histories(draw: st.DrawFn, *, lossy: bool, split: bool) -> History:
    """Draw a stream that is split (every input has a part of each item) or several streams."""
    count = draw(st.integers(1, 3))
    steps = draw(st.integers(1, 5))
    times = sorted(draw(st.lists(st.integers(0, 9), max_size=8)))
    inputs = []
    for _ in range(count):
        own = times if split else sorted(draw(st.lists(st.integers(0, 9), max_size=5)))
        keep = [not lossy or draw(st.integers(0, 4)) > 0 for _ in own]
        when = sorted(draw(st.integers(0, steps - 1)) for _ in own)
        parts = zip(range(len(own)), own, when, keep, strict=True)
        inputs.append(tuple(Part(time, number, step) for number, time, step, kept in parts if kept))
    gaps = [draw(st.sampled_from([0.0, 0.5, 1.0, 3.0])) for _ in range(steps)]
    return History(
        tuple(inputs),
        tuple(np.cumsum(gaps).tolist()),
        tuple(draw(st.booleans()) for _ in range(count)),
        draw(st.booleans()),
    )


def stepped(operator: FlowOperator, history: History) -> list[OperatorStep]:
    """Return what each step of an operator gives, its state going through bytes in between."""
    state, given = operator.fresh(), []
    for step, now in enumerate(history.moments):
        given.append(operator.step(state, history.arrivals(step), now))
        state = from_bytes(to_bytes({"it": given[-1].state}))["it"]
    return given


@dataclass
class Waiting:
    """A part that waits: at which input, since when."""

    part: Part
    at: int
    since: float


@dataclass
class MergeByHand:
    """S-Merge one item at a time."""

    history: History
    timeout: float | None
    frontiers: list[int] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    last: int = BEGIN

    def run(self) -> tuple[list[list[tuple[int, int]]], list[tuple[int, int]]]:
        """Return (time, number) of what goes on in each step, and of what is late."""
        self.frontiers = [BEGIN] * len(self.history.inputs)
        gone, late = [], []
        for step, now in enumerate(self.history.moments):
            for at, parts in enumerate(self.history.inputs):
                for part in (each for each in parts if each.step == step):
                    self.frontiers[at] = max(self.frontiers[at], part.time)
                    if part.time < self.last:
                        late.append((part.time, part.number))
                    else:
                        self.waiting.append(Waiting(part, at, now))
                self.frontiers[at] = max(self.frontiers[at], self.history.progress(at, step))
            gone.append(list(self._released(now)))
        return gone, late

    def _released(self, now: float) -> Sequence[tuple[int, int]]:
        """An item that has waited for too long takes along all that is not newer."""
        out = []
        over = [
            each.part.time
            for each in self.waiting
            if self.timeout is not None and each.since + self.timeout <= now
        ]
        while self.waiting:
            first = min(self.waiting, key=lambda w: (w.part.time, w.part.number, w.at))
            known = all(each >= first.part.time for each in self.frontiers)
            expired = any(time >= first.part.time for time in over)
            if not (known or expired):
                break
            self.waiting.remove(first)
            self.last = max(self.last, first.part.time)
            out.append((first.part.time, first.part.number))
        return out


@dataclass
class JoinByHand:
    """OS-Join one item at a time: whole items, and those that are given up, in order."""

    history: History
    timeout: float | None
    split: bool

    def run(self) -> tuple[list[list[Key]], dict[Key, int], int]:
        """Return the keys that are whole in each step, those given up with the number of parts
        that they had, and how many parts were late."""
        count = len(self.history.inputs)
        newest = [(BEGIN, BEGIN, BEGIN)] * count
        known = [BEGIN] * count
        groups: dict[Key, dict[int, float]] = {}
        decided: set[Key] = set()
        until, late = BEGIN, 0
        whole: list[list[Key]] = []
        missed: dict[Key, int] = {}
        for step, now in enumerate(self.history.moments):
            for at, parts in enumerate(self.history.inputs):
                for part in (each for each in parts if each.step == step):
                    same = (part.time, part.number if self.split else 0)
                    turn = newest[at][2] + 1 if newest[at][:2] == same else 0
                    newest[at] = (*same, turn)
                    if part.time < until or newest[at] in decided:
                        late += 1
                    else:
                        groups.setdefault(newest[at], {})[at] = now
                    known[at] = max(known[at], part.time)
                known[at] = max(known[at], self.history.progress(at, step))
            whole.append([])
            while groups:
                key = min(groups)
                parts_of = groups[key]
                lacking = [at for at in range(count) if at not in parts_of]
                past = any(known[at] > key[0] for at in lacking)
                since = min(parts_of.values())
                expired = self.timeout is not None and since + self.timeout <= now
                if lacking and not (past or expired):
                    break
                if lacking:
                    missed[key] = len(parts_of)
                else:
                    whole[-1].append(key)
                decided.add(key)
                until = key[0]
                del groups[key]
        return whole, missed, late


def shown(items: Items) -> list[tuple[int, int]]:
    return list(zip(items.times.tolist(), items.numbers.tolist(), strict=True))
