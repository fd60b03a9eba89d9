"""The state of a flow: what its functions keep between trains, and how its sites run.

Items come in order. Each stage of the flow is done over all of a run's items before the next; where
that happens changes nothing of what comes out.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Self

import pyarrow as pa

from penstock.engine.rows import empty_table, fit, in_memory
from penstock.engine.sites.choice import Choice
from penstock.engine.sites.held import HeldItem
from penstock.engine.sites.ledger import Ledger
from penstock.engine.sites.lost import given_up
from penstock.engine.sites.recent import Recent
from penstock.engine.sites.task import Result, Work, done
from penstock.engine.sites.workers import Files, done_by_workers, files_below
from penstock.engine.states.above import root_rows
from penstock.engine.states.ordered import arrivals
from penstock.engine.states.reading import table_of
from penstock.engine.states.state import Kept, KeptPart, Run, Step
from penstock.engine.types import arrow_schema
from penstock.errors import RunError
from penstock.functions.flow import Input, Source
from penstock.functions.items import Items
from penstock.functions.kept import Kept as KeptNode
from penstock.functions.operator import Arrival
from penstock.functions.stages import Stages, Task, stages_of
from penstock.functions.tuning.plans import Plan
from penstock.functions.tuning.spreading import flow_for, function_in
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.lateness import HELD
from penstock.plan.operators import Flow
from penstock.plan.operators.ordered import NUMBER

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
    choice: Choice | None = None
    spreads: dict[str, Stages] = field(default_factory=dict)
    recent: Recent = field(default_factory=Recent)

    @classmethod
    def new(cls, operator: Flow) -> Self:
        """Return the state of a flow that begins now."""
        return cls(operator, fresh(operator.stages))

    def step(self, run: Run) -> Step:
        """Let the run's items through the flow."""
        choice = self._choice(run.processor.slots)
        table = arrivals(run)
        size = table.nbytes
        workers = bool(table.num_rows) and choice.by_workers(size)
        began = time.perf_counter()
        try:
            passed = self._passed(run, table, workers=workers)
        except RunError:
            if not workers or choice.sites == "workers":
                raise
            choice.failed()  # such as a function that cannot be sent
            workers, began = False, time.perf_counter()
            passed = self._passed(run, table, workers=False)
        answer = root_rows(run, passed.table)
        choice.took(time.perf_counter() - began, size, workers=workers)
        self.nodes, self.progress, self.ledger = passed.nodes, passed.progress, passed.ledger
        self.nodes_of = self.plan
        self.recent.see(table, time.monotonic())
        self.held += len(passed.held)
        return Step(answer, held_table(passed.held))

    @property
    def stages(self) -> Stages:
        """Return how the flow ran last, which is what the figures are of."""
        return self._spread(self.nodes_of)

    @property
    def coming(self) -> Stages:
        """Return how the flow runs from the next run on."""
        return self._spread(self.plan)

    def spread_as(self, plan: str) -> None:
        """Spread the flow's function in another way from the next run on; only at rest."""
        self.plan, self.choice = plan, None

    def promise(self, marks: Sequence[int]) -> int:
        """Return how far the output is."""
        return self.progress

    def kept(self) -> Kept:
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
        return Kept(facts, parts)

    @classmethod
    def back(cls, operator: Flow, kept: Kept) -> Self:
        """Return the state that a checkpoint kept."""
        facts, tables = kept.facts, dict[str, dict[str, pa.Table]]()
        for part in kept.parts:
            tables.setdefault(part.facts["node"], {})[part.facts["table"]] = table_of(part.rows)
        plan, nodes_of = facts["plan"]
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

    def _choice(self, slots: int) -> Choice:
        if self.choice is None:
            self.choice = Choice(self.operator.sites, self.coming.degree, slots)
        return self.choice

    def _passed(self, run: Run, table: pa.Table, *, workers: bool) -> "Passing":
        passing = Passing(
            self.operator,
            self.stages,
            dict(self.nodes),
            Ledger.back(self.ledger.kept()),
        )
        if self.plan != self.nodes_of:
            passing.take(run, table.slice(0, 0), END_OF_TIME, None)
            passing.go_over_to(self.coming)
        passing.ledger.runs["workers" if workers else "driver"] += bool(table.num_rows)
        rows = max(1, RUN_BYTES * table.num_rows // max(1, table.nbytes))
        starts = range(0, max(1, table.num_rows), rows)
        for start in starts:
            piece = table.slice(start, rows)
            last = start == starts[-1]
            mark = run.marks[0] if last else BEGIN_OF_TIME
            if workers:
                with files_below(run.processor.spill) as files:
                    passing.take(run, piece, mark, files)
            else:
                passing.take(run, piece, mark, None)
        return passing


@dataclass(slots=True)
class Passing:
    """One run on its way through the stages; nothing of the state changes before it is through."""

    operator: Flow
    stages: Stages
    nodes: States
    ledger: Ledger
    progress: int = BEGIN_OF_TIME
    tables: list[pa.Table] = field(default_factory=list)
    held: list[HeldItem] = field(default_factory=list)

    @property
    def table(self) -> pa.Table:
        """Return what came out of the flow."""
        return pa.concat_tables([empty_table(self.operator.schema), *self.tables])

    def go_over_to(self, stages: Stages) -> None:
        """Go on with other stages, now that nothing waits in the ones before."""
        self.stages, self.nodes, self.ledger = stages, fresh(stages), Ledger()

    def take(self, run: Run, table: pa.Table, mark: int, files: Files | None) -> None:
        """Let some items through all stages."""
        stages = self.stages
        items = Items.from_table(stages.given, table, table[NUMBER].to_numpy())
        passing: dict[Source, Arrival] = {Input(0): Arrival(items, mark)}
        for tasks in stages.stages:
            began = time.perf_counter()
            works = [self._work(task, passing) for task in tasks]
            results, crossing = self._done(run, works, files)
            elapsed = time.perf_counter() - began
            self.ledger.driver_crossing += crossing
            for task, work, result in zip(tasks, works, results, strict=True):
                found = given_up(work, result) if result.lost else result
                self._settle(task, found, elapsed)
                passing.update(found.out.items())
        out = passing[stages.output]
        self.progress = out.progress
        if len(out.items):
            self.tables.append(fit(out.items.table, arrow_schema(self.operator.schema)))

    def _work(self, task: Task, passing: Mapping[Source, Arrival]) -> Work:
        program = task.program
        states = {str(number): self.nodes[str(number)] for number in program.numbers}
        return Work(program, states, {each: passing[each] for each in task.needs}, time.time())

    def _done(
        self, run: Run, works: Sequence[Work], files: Files | None
    ) -> tuple[list[Result], float]:
        if files is None:
            return run.processor.side_by_side([partial(done, work) for work in works]), 0.0
        return done_by_workers(run.processor.context, works, files, self.operator.patience)

    def _settle(self, task: Task, result: Result, elapsed: float) -> None:
        self.nodes |= result.states
        self.held += result.held
        self.ledger.add(task, result.figures, result.crossing, elapsed)


def spread(operator: Flow, plan: str) -> Stages:
    """Return the stages of a flow: as it is written, or its function spread by a plan."""
    function = function_in(operator.stages.flow) if plan else None
    if function is None:
        return operator.stages
    return stages_of(flow_for(function, Plan.named(plan)), operator.stages.given)


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
