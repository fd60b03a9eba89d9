"""A unit that runs: its place in its inputs, its state, its figures."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.states.answers import AnyState, promises_of, steps_of
from penstock.engine.states.sharing.together import BundleMembers
from penstock.engine.states.state import Decided, Run, RunOutput
from penstock.engine.trains.rows import Rows, write_parquet_at
from penstock.engine.trains.times import span_of_rows
from penstock.engine.trains.train_files import Outlook
from penstock.model.functions.time_outs import TimeOuts
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import key
from penstock.plan.operators.bundles.member import Asking
from penstock.plan.select.punctuation import carried
from penstock.plan.sharing.units import Unit
from penstock.runtime.durable.journal import Ranges, RecordedRun
from penstock.runtime.work.moments import Arrivals, Moments, RunMoments
from penstock.runtime.work.reading import Inputs, Reading
from penstock.runtime.work.train_groups import ranges_of

READER = "unit:"  # before a unit's key, among the readers of a buffer
Note = Callable[[TimeOuts], None]


def ignored(_: TimeOuts) -> None:
    """Note nothing."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a run gave: rows, and the promise after them.

    `idle` says that nothing of what the unit reads goes on, `punctuation` that no more rows come
    for which it holds, `span` is that of the rows' event times, and `moments` since when they were
    due, None where the run took no train.
    """

    rows: Rows
    watermark: int
    idle: bool = False
    punctuation: str = ""
    span: tuple[int, int] | None = None
    moments: Moments | None = None


@dataclass(slots=True)
class Ahead:
    """Partials of trains of a coming run, computed while earlier ones are at work."""

    ranges: Ranges
    place: int
    done: bool = False
    partials: pa.Table | None = None


@dataclass(slots=True)
class LiveUnit:
    """One unit, with what it keeps, where it stands, and what it has done.

    `decided` is what the run at work has to do. `history` are rows of its leaves from before its
    first train, until its first run takes them. `late_rows` are counted by the operator that judged
    them, and `rows_before` are those that came in before a root was one of the unit's.
    """

    unit: Unit
    late_directory: Callable[[str], Path]
    state: AnyState = None
    reading: Reading = field(default_factory=Reading)
    runs: int = 0
    decided: Decided = field(default_factory=Decided)
    time_is_up: bool = False
    ended: bool = False
    wants_history: bool = False
    history: dict[str, list[Rows]] = field(default_factory=dict)
    replay: deque[RecordedRun] = field(default_factory=deque)
    running: Ranges = field(default_factory=dict)
    ahead: deque[Ahead] = field(default_factory=deque)
    arrivals: Arrivals = field(default_factory=Arrivals)
    rows_in: int = 0
    rows_out: int = 0
    driver_bytes: int = 0  # of its rows that were in the driver, since the start
    file_bytes: int = 0  # of those that tasks wrote
    late_rows: dict[str, int] = field(default_factory=dict)
    rows_before: dict[str, int] = field(default_factory=dict)
    busy_seconds: float = 0.0
    last_seconds: float = math.inf  # of the last run
    last_ended: float = -math.inf  # seconds since 1970
    cause: str = ""

    @property
    def reader(self) -> str:
        """Return the unit's name among a buffer's readers."""
        return f"{READER}{self.unit.key}"

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
        return promises_of(self.state, self.unit, self.reading.below(self.unit))

    @property
    def is_idle(self) -> bool:
        """Say whether nothing of what it reads goes on."""
        return self.reading.is_idle(self.unit)

    @property
    def must_end(self) -> bool:
        """Say whether the unit has to tell its readers of an end that no train will bring.

        Its time is up, or it was made when everything that it reads had ended.
        """
        over = self.time_is_up or set(self.reading.marks.values()) == {END_OF_TIME}
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
        then = self.reading.after(self.unit, inputs)
        run = replace(
            self._run(processor, inputs, then),
            outlook=self._outlook(number, inputs),
            ahead=self._ahead_of(ranges_of(inputs)),
            shared=shared,
            thinned=thinned,
            note=note,
        )
        told = {name: trains[-1].info.punctuation for name, trains in inputs.items() if trains}
        outputs = self._outputs(run, number, {n: each for n, each in told.items() if each})
        outputs = self._due(outputs, inputs, then)
        # Only now: readers of this unit's promises meanwhile need those before the run.
        self.reading = then
        self._let_go_of_history()
        self.ended = all(each.watermark == END_OF_TIME for each in outputs.values())
        self.rows_in += run.count
        self._count(outputs.values())
        self.last_seconds = time.perf_counter() - began
        self.busy_seconds += self.last_seconds
        return {root: replace(each, idle=self.is_idle) for root, each in outputs.items()}

    def _due(
        self, outputs: Mapping[str, Output], inputs: Inputs, then: Reading
    ) -> dict[str, Output]:
        """Return what came with the span of its times, and since when it was due."""
        run, found = RunMoments(self.unit, self.reading, inputs, self.arrivals), {}
        for root in self.unit.roots:
            each, times = outputs[key(root)], root.times
            span = span_of_rows(each.rows, times[0].column) if times else None
            moments = run.of(root, span[0] if span else None)
            found[key(root)] = replace(each, span=span, moments=moments)
        run.forget(then.reached)
        return found

    def _count(self, outputs: Iterable[Output]) -> None:
        for rows in (each.rows for each in outputs):
            self.rows_out += rows.count
            self.driver_bytes += rows.memory_bytes
            self.file_bytes += rows.size if rows.table is None else 0

    def _outlook(self, number: int, inputs: Inputs) -> Outlook:
        """Return what may come of a run: as many rows as it takes, or more where that is usual.

        It rests on what a replay finds again, so that it writes what was written before.
        """
        trains = [train for each in inputs.values() for train in each]
        more = max(1.0, self.rows_out / self.rows_in) if self.rows_in else 1.0
        rows = sum(train.info.rows for train in trains)
        size = sum(train.info.size for train in trains)
        return Outlook(rows * more, size * more, f"{self.unit.key}-{number:010d}")

    def _run(self, processor: Processor, inputs: Inputs, then: Reading) -> Run:
        """Return a run over trains, and over the history that goes before the first of them."""
        before = self.reading.below(self.unit)
        rows = {
            name: [*self.history.get(name, ()), *(t.rows for t in inputs.get(name, ()))]
            for name in self.unit.inputs
        }
        return Run(
            processor,
            self.unit,
            rows,
            then.reached,
            (BEGIN_OF_TIME,) * len(before) if self.history else before,
            decided=self.decided,
            trains=inputs,
            high=self._high(inputs),
        )

    def _high(self, inputs: Inputs) -> int | None:
        """Return the latest event time, or number, of the trains of the only input."""
        if len(self.unit.inputs) > 1:
            return None
        lasts = [train.info.last for trains in inputs.values() for train in trains]
        return max((last for last in lasts if last is not None), default=None)

    def _outputs(self, run: Run, number: int, told: Mapping[str, str]) -> dict[str, Output]:
        steps = steps_of(self.state, run, told)
        self._keep_late(number, steps)
        promises = promises_of(self.state, self.unit, run.marks)
        carries = {key(root): carried(root, told) if told else "" for root in self.unit.roots}
        return {
            root: Output(step.rows, promises[root], punctuation=carries[root])
            for root, step in steps.items()
        }

    def probe(self, processor: Processor, inputs: Inputs, members: Sequence[Asking]) -> None:
        """Raise what a run over the trains would raise if only these members were here."""
        if isinstance(self.state, BundleMembers):
            then = self.reading.after(self.unit, inputs)
            self.state.probe(self._run(processor, inputs, then), members)

    def put_back(self, number: int, inputs: Ranges) -> None:
        """Do a run again later that failed; it stays recorded."""
        facts = (self.decided.keeps, self.decided.cut, self.decided.time_outs)
        self.replay.appendleft(RecordedRun(self.reader, number, inputs, *facts))

    def _let_go_of_history(self) -> None:
        for rows in (each for parts in self.history.values() for each in parts):
            rows.delete()  # files of a checkpoint are not ours: the next one removes them
        self.history = {}

    def _ahead_of(self, ranges: Ranges) -> pa.Table | None:
        """Return what was computed ahead for a run over these trains."""
        if self.ahead and self.ahead[0].ranges == ranges and not self.history:
            return self.ahead.popleft().partials
        return None

    def _keep_late(self, number: int, steps: Mapping[str, RunOutput]) -> None:
        """Keep what came too late once for each operator that judged it."""
        found: dict[str, pa.Table] = {}
        own = key(self.unit.stateful or self.unit.root)
        for step in steps.values():
            judge, late = step.judge or own, step.late
            # Who has been here for longer has missed more.
            if late is not None and late.num_rows > getattr(found.get(judge), "num_rows", 0):
                found[judge] = late
        for judge, late in found.items():
            # Named by unit and run, so that a replay writes the same file again, and so that
            # another unit that takes the operator over writes beside it.
            name = f"{self.unit.key}-{number:010d}.parquet"
            write_parquet_at(late, self.late_directory(judge) / name)
            self.late_rows[judge] = self.late_rows.get(judge, 0) + late.num_rows
