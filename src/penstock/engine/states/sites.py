"""The state of a flow: what its functions keep between trains, and how its sites run.

Items come in order. Each stage of the flow is done over all of a run's items before the next; where
that happens changes nothing of what comes out.
"""

import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Self

import pyarrow as pa

from penstock.engine.states.above import root_rows
from penstock.engine.states.reads import table_of
from penstock.engine.states.selects import evaluated
from penstock.engine.states.state import KeptPart, KeptState, Run, RunOutput
from penstock.engine.states.tuples.ordered import arrivals
from penstock.engine.trains.rows import empty_table, fit, in_memory
from penstock.engine.trains.types import arrow_schema
from penstock.engine.workers.choice import CrossingCosts
from penstock.engine.workers.held import HeldItem
from penstock.engine.workers.ledger import Ledger
from penstock.engine.workers.lost import given_up, lost
from penstock.engine.workers.pieces import Grain, in_pieces, takes_each_item
from penstock.engine.workers.recent import Recent
from penstock.engine.workers.task import TaskInput, TaskResult, done
from penstock.engine.workers.workers import RunFiles, done_by_workers, files_below
from penstock.errors import RunError, TimedOutError
from penstock.functions.data.items import Items
from penstock.functions.data.operator_state import OperatorState as KeptNode
from penstock.functions.flows.flow import FlowInput, Source
from penstock.functions.flows.stages import Stages, Task, stages_of
from penstock.functions.operators.operator import InputItems
from penstock.functions.tuning.plans import SpreadPlan
from penstock.functions.tuning.spread import flow_for, function_in
from penstock.model.functions.time_outs import Lost, TimeOuts
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import Flow
from penstock.plan.operators.lateness import HELD
from penstock.plan.operators.tuples.ordered import NUMBER

WAITING = -1  # the piece of a run in which what waits in an old plan is let out
RUN_BYTES = 256 << 20  # of items at once: more is done in pieces, each well below Arrow's 2 GiB

States = dict[str, KeptNode]


@dataclass(slots=True)
class SitesState:
    """What the nodes keep, by their numbers; `progress` is the output's.

    `plan` is another way to spread the flow's function than the one that is written, by its name,
    and `nodes_of` the one whose nodes these are: the next run lets out what waits in them.
    """

    operator: Flow
    nodes: States
    plan: str = ""
    nodes_of: str = ""
    progress: int = BEGIN_OF_TIME
    held: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    choice: CrossingCosts | None = None
    spreads: dict[str, Stages] = field(default_factory=dict)
    recent: Recent = field(default_factory=Recent)

    @classmethod
    def new(cls, operator: Flow) -> Self:
        """Return the state of a flow that begins now."""
        return cls(operator, fresh(operator.stages))

    def step(self, run: Run) -> RunOutput:
        """Run the items through the flow."""
        choice = self._choice(run.processor.slots)
        table = arrivals(run)
        size = table.nbytes
        workers = bool(table.num_rows) and choice.by_workers(size)
        began, used = time.perf_counter(), time.process_time()
        try:
            passed = self._passed(run, table, workers=workers)
        except TimedOutError:
            raise  # it would take as long here
        except RunError:
            if not workers or choice.sites == "workers":
                raise
            choice.failed()  # such as a function that cannot be sent
            workers, began, used = False, time.perf_counter(), time.process_time()
            passed = self._passed(run, table, workers=False)
        if self.operator.patience is not None and run.decided.time_outs is None:
            run.note(passed.time_outs)
        answer = root_rows(run, passed.table)
        seconds = time.perf_counter() - began
        busy = (time.process_time() - used) / seconds
        choice.took(seconds, size, workers=workers, busy=busy)
        self.recent.see(table, time.monotonic())  # before the ledger tells that there are some
        self.nodes, self.progress, self.ledger = passed.nodes, passed.progress, passed.ledger
        self.nodes_of = self.plan
        self.held += len(passed.held)
        return RunOutput(answer, held_table(passed.held))

    @property
    def stages(self) -> Stages:
        """Return how the flow ran last, which is what the figures are of."""
        return self._spread(self.nodes_of)

    @property
    def coming(self) -> Stages:
        """Return how the flow runs from the next run on."""
        return self._spread(self.plan)

    def spread_as(self, plan: str) -> None:
        """Spread the flow's function in another way from the next run on; while quiesced."""
        self.plan, self.choice = plan, None

    def promise(self, marks: Sequence[int]) -> int:
        """Return how far the output is."""
        return self.progress

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        facts = {
            "nodes": {number: dict(each.facts) for number, each in self.nodes.items()},
            "progress": self.progress,
            "held": self.held,
            "ledger": self.ledger.kept(),
            "plan": [self.plan, self.nodes_of],
        }
        parts = [
            KeptPart(in_memory(table), {"node": number, "table": name})
            for number, each in self.nodes.items()
            for name, table in each.tables.items()
            if table.num_rows
        ]
        return KeptState(facts, parts)

    @classmethod
    def back(cls, operator: Flow, kept: KeptState) -> Self:
        """Return the state that a checkpoint kept."""
        facts, tables = kept.facts, dict[str, dict[str, pa.Table]]()
        for part in kept.parts:
            tables.setdefault(part.facts["node"], {})[part.facts["table"]] = table_of(part.rows)
        plan, nodes_of = facts.get("plan", ("", ""))  # none was chosen before plans were kept
        nodes = {
            number: KeptNode(facts["nodes"][number], {**each.tables, **tables.get(number, {})})
            for number, each in fresh(spread(operator, nodes_of)).items()
        }
        ledger = Ledger.back(facts["ledger"])
        return cls(operator, nodes, plan, nodes_of, facts["progress"], facts["held"], ledger)

    def _spread(self, plan: str) -> Stages:
        if plan not in self.spreads:
            self.spreads[plan] = spread(self.operator, plan)
        return self.spreads[plan]

    def _choice(self, slots: int) -> CrossingCosts:
        if self.choice is None:
            is_cut = any(takes_each_item(task.program) for task in self.coming.tasks)
            branches = max(self.coming.degree, slots if is_cut else 1)
            self.choice = CrossingCosts(self.operator.sites, branches, slots)
        return self.choice

    def _passed(self, run: Run, table: pa.Table, *, workers: bool) -> "Passing":
        passing = Passing(
            self.operator,
            self.stages,
            dict(self.nodes),
            Ledger.back(self.ledger.kept()),
            time.time() if run.decided.time_outs is None else run.decided.time_outs.now,
        )
        if self.plan != self.nodes_of:
            passing.take(run, table.slice(0, 0), (END_OF_TIME, WAITING), None)
            passing.go_over_to(self.coming)
        passing.ledger.runs["workers" if workers else "driver"] += bool(table.num_rows)
        rows = max(1, RUN_BYTES * table.num_rows // max(1, table.nbytes))
        starts = range(0, max(1, table.num_rows), rows)
        for number, start in enumerate(starts):
            piece = table.slice(start, rows)
            last = start == starts[-1]
            place = (run.marks[0] if last else BEGIN_OF_TIME, number)
            if workers:
                with files_below(run.processor.spill) as files:
                    passing.take(run, piece, place, files)
            else:
                passing.take(run, piece, place, None)
        return passing


@dataclass(slots=True)
class Passing:
    """One run on its way through the stages; nothing of the state changes before it is through."""

    operator: Flow
    stages: Stages
    nodes: States
    ledger: Ledger
    now: float
    progress: int = BEGIN_OF_TIME
    tables: list[pa.Table] = field(default_factory=list)
    held: list[HeldItem] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)

    @property
    def table(self) -> pa.Table:
        """Return what came out of the flow."""
        return pa.concat_tables([empty_table(self.operator.schema), *self.tables])

    @property
    def time_outs(self) -> TimeOuts:
        """Return what the clock decided."""
        return TimeOuts(self.now, tuple(self.lost))

    def go_over_to(self, stages: Stages) -> None:
        """Go on with other stages, now that nothing waits in the ones before."""
        self.stages, self.nodes, self.ledger = stages, fresh(stages), Ledger()

    def take(
        self, run: Run, table: pa.Table, place: tuple[int, int], files: RunFiles | None
    ) -> None:
        """Run a piece through all stages; its place is the mark after it and its number.

        What was given up when the run was done first is given up again, and all else waited for.
        """
        stages, (mark, piece) = self.stages, place
        items = Items.from_table(stages.given, table, table[NUMBER].to_numpy())
        passing: dict[Source, InputItems] = {FlowInput(0): InputItems(items, mark)}
        for stage, tasks in enumerate(stages.stages):
            began = time.perf_counter()
            works = [self._work(run, task, passing) for task in tasks]
            again = (
                None if run.decided.time_outs is None else run.decided.time_outs.at(piece, stage)
            )
            results = run.processor.in_time(partial(self._done, run, works, files, again))
            self.lost += [(piece, stage, at) for at, each in enumerate(results) if each.lost]
            elapsed = time.perf_counter() - began
            told: set[HeldItem] = set()  # what a partition fails on, it fails on in every branch
            for task, work, result in zip(tasks, works, results, strict=True):
                found = given_up(work, result) if result.lost else result
                self.held += [each for each in found.held if each not in told]
                told |= set(found.held)
                self._settle(task, found, elapsed)
                passing.update(found.out.items())
        out = passing[stages.output]
        self.progress = out.progress
        if len(out.items):
            self.tables.append(fit(out.items.table, arrow_schema(self.operator.schema)))

    def _work(self, run: Run, task: Task, passing: Mapping[Source, InputItems]) -> TaskInput:
        program = evaluated(task.program, run)
        states = {str(number): self.nodes[str(number)] for number in program.numbers}
        return TaskInput(program, states, {each: passing[each] for each in task.needs}, self.now)

    def _done(
        self, run: Run, works: Sequence[TaskInput], files: RunFiles | None, again: Set[int] | None
    ) -> list[TaskResult]:
        """Return what each task gave: those that can be cut are done in pieces."""
        if again:
            kept = [work for at, work in enumerate(works) if at not in again]
            found = iter(self._done(run, kept, files, frozenset()))
            return [lost(work) if at in again else next(found) for at, work in enumerate(works)]
        slots = run.processor.slots

        def by_threads(pieces: Sequence[TaskInput]) -> list[TaskResult]:
            return run.processor.side_by_side([partial(done, each) for each in pieces])

        def by_workers(pieces: Sequence[TaskInput]) -> list[TaskResult]:
            assert files is not None  # noqa: S101  (there are workers)
            patience = self.operator.patience if again is None else None
            results, crossing = done_by_workers(run.processor.context, pieces, files, patience)
            self.ledger.driver_crossing += crossing
            return results

        if files is None:
            return in_pieces(works, Grain(slots, self.ledger).pieces, by_threads)
        # What may be given up is recorded by its task, and stays whole.
        fair = 1 if self.operator.patience is not None else -(-slots // max(1, len(works)))
        return in_pieces(works, lambda _: fair, by_workers)

    def _settle(self, task: Task, result: TaskResult, elapsed: float) -> None:
        self.nodes |= result.states
        self.ledger.add(task, result.figures, result.crossing, elapsed)


def spread(operator: Flow, plan: str) -> Stages:
    """Return the stages of a flow: as it is written, or its function spread by a plan."""
    function = function_in(operator.stages.flow) if plan else None
    if function is None:
        return operator.stages
    return stages_of(flow_for(function, SpreadPlan.named(plan)), operator.stages.given)


def fresh(stages: Stages) -> States:
    """Return what the nodes of a flow keep before anything came."""
    return {name: kept for task in stages.tasks for name, kept in task.program.fresh().items()}


def held_table(held: Sequence[HeldItem]) -> pa.Table | None:
    """Return held items as rows."""
    if not held:
        return None
    columns = list(zip(*held, strict=True))
    names = list(HELD.names)
    table = pa.table([pa.array(column) for column in columns], names=names)
    return fit(table, arrow_schema(HELD))
