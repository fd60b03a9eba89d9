"""The state of a gate: what it keeps from now on, and what tuples were worth of late.

None of it has to outlive a death: what a run keeps is recorded before it happens.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from penstock.engine.spark.jobs.worth import is_plain, worth_of
from penstock.engine.states.state import Decided, KeptState, Run, RunOutput
from penstock.engine.trains.gates import gated, gated_by_worth
from penstock.plan.operators import Gate, key
from penstock.qos.shedding.quantiles import Values
from penstock.qos.shedding.worths import Worths

WEIGH_SECONDS, WEIGHED_ROWS = 1.0, 1_000  # how often, and how many tuples, while nothing is shed
REMEMBERED = 64  # trains that a gate let through whole: those behind it are not farther behind


@dataclass(slots=True)
class GateState:
    """`keep` is what the next runs let through.

    `whole` has, for each train that it gave of late with all tuples, the trains that it took. Of a
    gate that drops by worth, `worths` is what tuples were worth, and `weighed` when that was asked.
    """

    gate: Gate
    keep: float = 1.0
    whole: dict[int, tuple[int, int]] = field(default_factory=dict)
    worths: Worths = field(default_factory=Worths)
    weighed: float = -math.inf

    @property
    def is_light(self) -> bool:
        """Say whether a run needs no Spark: only what tuples are worth may have to be computed."""
        return not self.gate.worth or is_plain(self.gate)

    def decided(self, keeps: tuple[float, ...]) -> Decided:
        """Return what a run that keeps such shares of its trains has to do, also when done again.

        Where to cut is part of it: tuples seen since would move the cut.
        """
        keep = max(keeps, default=1.0)
        return Decided(keeps, self.worths.cut(keep) if self.gate.worth and keep < 1 else None)

    def step(self, run: Run) -> RunOutput:
        """Pass the tuples that were decided to pass."""
        return RunOutput(self._passed(run))

    def promise(self, marks: Sequence[int]) -> int:
        """Return the watermark of the input."""
        return marks[0]

    def kept(self) -> KeptState:
        """Return that nothing has to be kept."""
        return KeptState({})

    def note_whole(self, decided: Decided, taken: Mapping[str, tuple[int, int]], gave: int) -> None:
        """Remember of which trains it made one, if it dropped nothing of them."""
        if self.gate.thinned or decided.cut is not None or any(keep < 1 for keep in decided.keeps):
            return
        for trains in taken.values():
            self.whole[gave] = trains
        while len(self.whole) > REMEMBERED:
            del self.whole[next(iter(self.whole))]

    def _passed(self, run: Run) -> pa.Table:
        gate, place = self.gate, key(self.gate)
        found = [each for trains in run.trains.values() for each in trains]
        trains = [(each.info.number, each.rows) for each in found]
        if not gate.worth or not found:
            return gated(gate, place, run.decided.keeps, trains)
        now = max(each.info.arrived for each in found)
        if (cut := run.decided.cut) is None:
            if now - self.weighed >= WEIGH_SECONDS:  # to know where to cut when it has to be
                some = found[-1].rows.to_table(gate.input.schema).slice(0, WEIGHED_ROWS)
                self._weigh(worth_of(gate, some, run.processor), now)
            return gated(gate, place, (), trains)
        tables = [(number, rows.to_table(gate.input.schema)) for number, rows in trains]
        worth = np.concatenate([worth_of(gate, table, run.processor) for _, table in tables])
        self._weigh(worth, now)
        return gated_by_worth(gate, place, cut, tables, worth)

    def _weigh(self, worth: Values, now: float) -> None:
        self.worths, self.weighed = self.worths.add(worth, now), now


def gate_state(state: object) -> GateState:
    """Return the state of a unit that is known to be a gate."""
    assert isinstance(state, GateState)  # noqa: S101  (the caller looked)
    return state
