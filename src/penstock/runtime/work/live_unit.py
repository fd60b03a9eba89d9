"""A unit that runs: its place in its inputs, its state, its figures."""

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.engine.spark.processor import Processor
from penstock.engine.spark.worth import is_plain, worth_of
from penstock.engine.states import Together
from penstock.engine.states.state import Punctuated, Run, State, Step
from penstock.engine.trains.buffers import Train
from penstock.engine.trains.gating import gated, gated_by_worth
from penstock.engine.trains.rows import Rows, empty_table, write_parquet_at
from penstock.model.time_outs import TimeOuts
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import Bundle, EventBundle, Gate, Take, key
from penstock.plan.select.punctuation import carried
from penstock.plan.sharing.member import Asking
from penstock.plan.sharing.units import Unit
from penstock.qos.shedding.quantiles import Values
from penstock.qos.shedding.worths import Cut, Worths
from penstock.runtime.durable.journal import Keeps, Ranges, RecordedRun
from penstock.runtime.work.grouping import ranges_of

WEIGH_SECONDS, WEIGHED_ROWS = 1.0, 1_000  # how often, and how many tuples, while nothing is shed
REMEMBERED = 64  # trains that a gate let through whole: those behind it are not farther behind
READER = "unit:"  # before a unit's key, among the readers of a buffer
Inputs = Mapping[str, Sequence[Train]]
Note = Callable[[TimeOuts], None]


def ignored(_: TimeOuts) -> None:
    """Note nothing."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a run gave: rows, and the promise after them.

    `idle` says that nothing of what the unit reads goes on, `punctuation` that no more rows come
    for which it holds.
    """

    table: pa.Table
    watermark: int
    idle: bool = False
    punctuation: str = ""


@dataclass(slots=True)
class Ahead:
    """Partials of trains of a coming run, computed while earlier ones are at work."""

    ranges: Ranges
    place: int
    done: bool = False
    partials: pa.Table | None = None


@dataclass(slots=True)
class LiveUnit:
    """One unit; `marks` are the watermarks of its inputs as far as it has read them.

    `idle` are those from which nothing came for long; `reached` is what was made of all marks at
    the last run: no promise is taken back when an idle input wakes up.
    `history` are rows of its leaves from before its first train, until its first run takes them.
    `late_rows` are counted by the operator that judged them, and `rows_before` are those that came
    in before a root was one of the unit's. Of a gate, `keep` is what its next runs let through, and
    `keeping` what the one at work does, and `whole` has the trains that it took for each that it
    gave of late with all of their tuples; of one that drops by worth, `cutting` is where that cuts,
    `worths` what tuples were worth of late, and `weighed` when that was last asked. `time_outs`
    is what the clock decided in the run at work, where it is done again.
    """

    unit: Unit
    late_directory: Callable[[str], Path]
    state: State | Together | None = None
    runs: int = 0
    taken: int = 0
    keep: float = 1.0
    keeping: Keeps = ()
    whole: dict[int, tuple[int, int]] = field(default_factory=dict)
    cutting: Cut | None = None
    time_outs: TimeOuts | None = None
    worths: Worths = field(default_factory=Worths)
    weighed: float = -math.inf
    time_is_up: bool = False
    ended: bool = False
    marks: dict[str, int] = field(default_factory=dict)
    idle: set[str] = field(default_factory=set)
    reached: tuple[int, ...] = ()
    wants_history: bool = False
    history: dict[str, list[Rows]] = field(default_factory=dict)
    replay: deque[RecordedRun] = field(default_factory=deque)
    running: Ranges = field(default_factory=dict)
    ahead: deque[Ahead] = field(default_factory=deque)
    rows_in: int = 0
    rows_out: int = 0
    late_rows: dict[str, int] = field(default_factory=dict)
    rows_before: dict[str, int] = field(default_factory=dict)
    busy_seconds: float = 0.0
    cause: str = ""

    @property
    def reader(self) -> str:
        """Return the unit's name among a buffer's readers."""
        return f"{READER}{self.unit.key}"

    @property
    def asks_spark(self) -> bool:
        """Say whether a gate needs Spark to tell what tuples are worth."""
        gate = self.unit.root
        return isinstance(gate, Gate) and bool(gate.worth) and not is_plain(gate)

    @property
    def is_light_gate(self) -> bool:
        """Say whether it is a gate that needs no Spark."""
        return isinstance(self.unit.root, Gate) and not self.asks_spark

    def cut_for(self, keeps: Keeps) -> Cut | None:
        """Return where a run of a gate that drops by worth cuts; None where nothing goes."""
        gate, keep = self.unit.root, max(keeps, default=1.0)
        by_worth = isinstance(gate, Gate) and gate.worth and keep < 1
        return self.worths.cut(keep) if by_worth else None

    @property
    def state_bytes(self) -> int:
        """Return what its state takes in the driver."""
        if self.state is None:
            return 0
        return sum(part.rows.memory_bytes for part in self.state.kept().parts)

    @property
    def waits_for_ahead(self) -> bool:
        """Say whether the partials of the next run are being computed."""
        return bool(self.ahead) and not self.ahead[0].done

    def promises(self) -> dict[str, int]:
        """Return the watermark of each output, as far as the inputs have been read."""
        if self.history:
            return {self.unit.key: BEGIN_OF_TIME}
        below = self._below(self.marks, self.idle)
        if isinstance(self.state, Together):
            return self.state.promises(below)
        return {self.unit.key: below[0] if self.state is None else self.state.promise(below)}

    @property
    def is_idle(self) -> bool:
        """Say whether nothing of what it reads goes on."""
        return self.unit.is_idle(self.marks, self.idle)

    @property
    def must_end(self) -> bool:
        """Say whether the unit has to tell its readers of an end that no train will bring.

        Its time is up, or it was made when everything that it reads had ended.
        """
        over = self.time_is_up or set(self.marks.values()) == {END_OF_TIME}
        return over and not self.ended

    def execute(
        self,
        processor: Processor,
        number: int,
        inputs: Inputs,
        note: Note = ignored,
        *,
        thinned: bool = True,
        shared: Sequence[pa.Table] = (),
    ) -> dict[str, Output]:
        """Run over the trains, and return what came for each root.

        Nothing of the state has changed if this raises. `note` is told what the clock decides.
        `shared` are partials of these trains that were made for others, too (`state.py`).
        """
        began = time.perf_counter()
        ahead = self._ahead_of(ranges_of(inputs))
        old = {name: self.marks.get(name, BEGIN_OF_TIME) for name in self.unit.inputs}
        after = {name: trains[-1].info for name, trains in inputs.items() if trains}
        marks = old | {name: info.watermark for name, info in after.items()}
        below = self._below(marks, self._resting(inputs))
        rows = {
            name: [*self.history.get(name, ()), *(t.rows for t in inputs.get(name, ()))]
            for name in self.unit.inputs
        }
        told = {name: info.punctuation for name, info in after.items() if info.punctuation}
        before = self._below(old, self.idle)
        if self.history:
            before = (BEGIN_OF_TIME,) * len(below)
        run = Run(
            processor,
            self.unit,
            rows,
            below,
            before,
            ahead,
            shared,
            thinned=thinned,
            time_outs=self.time_outs,
            note=note,
            high=self._high(inputs),
        )
        if isinstance(self.unit.root, Gate):
            outputs = {
                self.unit.key: Output(self._gated(self.unit.root, inputs, processor), below[0])
            }
        else:
            outputs = self._outputs(run, number, marks, told)
        self.marks, self.reached = marks, below
        self.idle -= after.keys()
        self.idle |= {name for name, info in after.items() if info.idle}
        self._let_go_of_history()
        self.ended = all(each.watermark == END_OF_TIME for each in outputs.values())
        self.rows_in += run.count
        self.rows_out += sum(each.table.num_rows for each in outputs.values())
        self.busy_seconds += time.perf_counter() - began
        carries = {key(root): carried(root, told) if told else "" for root in self.unit.roots}
        return {
            root: replace(output, idle=self.is_idle, punctuation=carries[root])
            for root, output in outputs.items()
        }

    def _high(self, inputs: Inputs) -> int | None:
        """Return the latest event time, or number, of the trains of the only input."""
        if len(self.unit.inputs) > 1:
            return None
        lasts = [train.info.last for trains in inputs.values() for train in trains]
        return max((last for last in lasts if last is not None), default=None)

    def _gated(self, gate: Gate, inputs: Inputs, processor: Processor) -> pa.Table:
        found = [each for part in inputs.values() for each in part]
        trains = [(each.info.number, each.rows) for each in found]
        if not gate.worth or not found:
            return gated(gate, self.unit.key, self.keeping, trains)
        now = max(each.info.arrived for each in found)
        if self.cutting is None:
            if now - self.weighed >= WEIGH_SECONDS:  # to know where to cut when it has to be
                some = found[-1].rows.to_table(gate.input.schema).slice(0, WEIGHED_ROWS)
                self._weigh(worth_of(gate, some, processor), now)
            return gated(gate, self.unit.key, (), trains)
        tables = [(number, rows.to_table(gate.input.schema)) for number, rows in trains]
        parts = [worth_of(gate, table, processor) for _, table in tables]
        worth = np.concatenate(parts)
        self._weigh(worth, now)
        return gated_by_worth(gate, self.unit.key, self.cutting, tables, worth)

    def note_whole(self, gate: Gate, taken: Ranges, given: int) -> None:
        """Remember of which trains a gate made one, if it dropped nothing of them."""
        if gate.thinned or self.cutting is not None or any(keep < 1 for keep in self.keeping):
            return
        for trains in taken.values():
            self.whole[given] = trains
        while len(self.whole) > REMEMBERED:
            del self.whole[next(iter(self.whole))]

    def _weigh(self, worth: Values, now: float) -> None:
        self.worths, self.weighed = self.worths.add(worth, now), now

    def probe(self, processor: Processor, inputs: Inputs, members: Sequence[Asking]) -> None:
        """Raise what a run over the trains would raise if only these members were here."""
        marks = self.marks | {n: each[-1].info.watermark for n, each in inputs.items() if each}
        rows = {name: [t.rows for t in inputs.get(name, ())] for name in self.unit.inputs}
        below = self._below(marks, self._resting(inputs))
        if isinstance(self.state, Together):
            self.state.probe(Run(processor, self.unit, rows, below, self.reached), members)

    def _outputs(
        self, run: Run, number: int, marks: Mapping[str, int], told: Mapping[str, str]
    ) -> dict[str, Output]:
        name = self.unit.key
        if isinstance(self.unit.root, Take):
            return {name: self._take(run.rows, marks)}
        if self.state is None:
            return {name: Output(run.processor.flow(self.unit, run.rows), run.marks[0])}
        if isinstance(self.state, Together):
            steps = self.state.steps(run)
            self._keep_late_of_members(number, steps)
            promises = self.state.promises(run.marks)
            return {root: Output(step.table, promises[root]) for root, step in steps.items()}
        step = self._step(self.state, run, told)
        self._keep_late(number, key(self.unit.stateful or self.unit.root), step.late)
        return {name: Output(step.table, self.state.promise(run.marks))}

    def put_back(self, number: int, inputs: Ranges) -> None:
        """Do a run again later that failed; it stays recorded."""
        facts = (self.keeping, self.cutting, self.time_outs)
        self.replay.appendleft(RecordedRun(self.reader, number, inputs, *facts))

    def _step(self, state: State, run: Run, told: Mapping[str, str]) -> Step:
        """Let the state take the tuples in, or, in a run without any, a punctuation."""
        inputs = self.unit.stateful.inputs if self.unit.stateful is not None else ()
        conditions = {
            place: condition
            for place, each in enumerate(inputs)
            if told and (condition := carried(each, told))
        }
        if conditions and not run.count and isinstance(state, Punctuated):
            return state.punctuate(run, conditions)
        return state.step(run)

    def _below(self, marks: Mapping[str, int], idle: Set[str]) -> tuple[int, ...]:
        """Return the watermarks of the state's inputs, or the root's; never behind earlier ones."""
        if self.state is None:
            found: tuple[int, ...] = (self.unit.watermark(marks, idle),)
        else:
            found = self.unit.marks(marks, idle)
        if len(self.reached) != len(found):
            return found
        return tuple(map(max, found, self.reached))

    def _resting(self, inputs: Inputs) -> set[str]:
        """Return the inputs that are idle all through a run over these trains."""
        heard = {
            name
            for name, trains in inputs.items()
            if any(train.rows.count or not train.info.idle for train in trains)
        }
        fell_idle = {name for name, trains in inputs.items() if trains and trains[-1].info.idle}
        return (self.idle | fell_idle) - heard

    def _let_go_of_history(self) -> None:
        for rows in (each for parts in self.history.values() for each in parts):
            rows.delete()  # files of a checkpoint are not ours: the next one removes them
        self.history = {}

    def _ahead_of(self, ranges: Ranges) -> pa.Table | None:
        """Return what was computed ahead for a run over these trains."""
        if self.ahead and self.ahead[0].ranges == ranges and not self.history:
            return self.ahead.popleft().partials
        return None

    def _take(self, rows: Mapping[str, Sequence[Rows]], marks: Mapping[str, int]) -> Output:
        take = self.unit.root
        assert isinstance(take, Take)  # noqa: S101  (the caller looked)
        nothing = empty_table(take.schema)
        taken = [each.to_table(take.schema) for parts in rows.values() for each in parts]
        # The clock is not asked: a run over no trains is the end, also when it is done again.
        over = self.ended or not taken
        table = pa.concat_tables([nothing, *taken])
        if over:
            table = table.slice(0, 0)
        if take.tuples is not None:
            table = table.slice(0, max(0, take.tuples - self.taken))
        self.taken += table.num_rows
        full = take.tuples is not None and self.taken >= take.tuples
        mark = END_OF_TIME if full or over else min(marks.values())
        return Output(table, mark)

    def _keep_late_of_members(self, number: int, steps: Mapping[str, Step]) -> None:
        """Keep what came too late once for each aggregate, whatever is made of its windows."""
        bundle, found = self.unit.bundle, dict[str, pa.Table]()
        if isinstance(bundle, EventBundle):
            found |= {name: step.late for name, step in steps.items() if step.late is not None}
        for member in bundle.members if isinstance(bundle, Bundle) else ():
            late, judge = steps[member.key].late, key(member.aggregate)
            # Who has been here for longer has missed more.
            if late is not None and late.num_rows > getattr(found.get(judge), "num_rows", 0):
                found[judge] = late
        for judge, late in found.items():
            self._keep_late(number, judge, late)

    def _keep_late(self, number: int, judge: str, late: pa.Table | None) -> None:
        if late is None or not late.num_rows:
            return
        # Named by unit and run, so that a replay writes the same file again, and so that
        # another unit that takes the operator over writes beside it.
        name = f"{self.unit.key}-{number:010d}.parquet"
        write_parquet_at(late, self.late_directory(judge) / name)
        self.late_rows[judge] = self.late_rows.get(judge, 0) + late.num_rows
