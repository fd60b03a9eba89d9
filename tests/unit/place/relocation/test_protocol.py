"""The protocol under crashes, delays, and messages that are lost, repeated or overtaken.

Unit b reads what unit a makes; both fold what they read into what they write, so that a train that
is lost, doubled or out of order changes all that comes after it. Coordinator and processors are the
real ones; what stands in for engines carries their jobs out, one at a time and in any order.
"""

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from penstock.place.relocation.coordinator import Available, Coordinator, Phase, Say, Step
from penstock.place.relocation.messages import (
    Adopt,
    Adopted,
    Forget,
    Ran,
    Release,
    Released,
    Run,
    ToCoordinator,
    ToProcessor,
    Train,
    Unknown,
)
from penstock.place.relocation.processor import Answer, Job, ProcessorSide, Work
from penstock.place.relocation.records import Placed, Record, Recorded
from tests.examples import examples

NAMES = ("p", "q", "r")
PRIME = 1_000_003
PICK = st.integers(0, 1_000)

Output = dict[int, int]  # by the number of the run


def fold(state: int, value: int) -> int:
    return (state * 31 + value + 1) % PRIME


class Processor:
    """A processor with its engine: units' states and outputs in memory, which a crash takes."""

    def __init__(self) -> None:
        self.side = ProcessorSide()
        self.jobs: list[Job] = []
        self.states: dict[tuple[str, int], int] = {}  # by unit and epoch
        self.outputs: dict[str, Output] = {}


class World(RuleBasedStateMachine):
    """Everything, and who may fail: saves and the journal are on disk and stay."""

    def __init__(self) -> None:
        super().__init__()
        self.journal: list[Record] = []
        self.saves: dict[Train, tuple[int, Output]] = {("a", 0): (0, {}), ("b", 0): (0, {})}
        self.source: list[int] = []
        self.processors = {name: Processor() for name in NAMES}
        self.to_processors: list[tuple[str, ToProcessor]] = []
        self.to_coordinator: list[tuple[str, ToCoordinator]] = []
        self.made: dict[Train, int] = {}  # all outputs that ever were, to be the same ever after
        self.delivered: list[int] = []
        self.coordinator = Coordinator()
        self._carry_out(self.coordinator.place("a", "p"))
        self._carry_out(self.coordinator.place("b", "q"))

    # What happens.

    @rule(value=st.integers(0, 9))
    def a_train_comes(self, value: int) -> None:
        self.source.append(value)
        self._carry_out(self.coordinator.record("a", (("s", len(self.source) - 1),)))

    @rule(unit=st.sampled_from("ab"), to=st.sampled_from(NAMES))
    def a_unit_is_to_move(self, unit: str, to: str) -> None:
        self._carry_out(self.coordinator.move(unit, to))

    @rule(unit=st.sampled_from("ab"))
    def a_unit_is_to_be_saved(self, unit: str) -> None:
        self._carry_out(self.coordinator.save(unit))

    @rule()
    def the_coordinator_says_it_again(self) -> None:
        self._carry_out(self.coordinator.remind())

    @rule(turns=st.integers(1, 3))
    def all_goes_well_for_a_while(self, turns: int) -> None:
        for _ in range(turns):
            self._settle()

    @precondition(lambda self: self.to_processors)
    @rule(which=PICK, repeated=st.booleans())
    def a_processor_hears_something(self, which: int, repeated: bool) -> None:
        place = which % len(self.to_processors)
        name, message = self.to_processors[place]
        if not repeated:
            del self.to_processors[place]
        self._answer(name, self.processors[name].side.receive(message))

    @precondition(lambda self: self.to_coordinator)
    @rule(which=PICK, repeated=st.booleans())
    def the_coordinator_hears_something(self, which: int, repeated: bool) -> None:
        place = which % len(self.to_coordinator)
        name, message = self.to_coordinator[place]
        if not repeated:
            del self.to_coordinator[place]
        self._carry_out(self.coordinator.receive(name, message))

    @precondition(lambda self: any(each.jobs for each in self.processors.values()))
    @rule(which=PICK)
    def an_engine_does_a_job(self, which: int) -> None:
        jobs = [(name, job) for name, each in self.processors.items() for job in each.jobs]
        name, job = jobs[which % len(jobs)]
        self._do(name, job)

    @rule(which=PICK)
    def a_message_is_lost(self, which: int) -> None:
        for queue in (self.to_processors, self.to_coordinator):
            if queue:
                del queue[which % len(queue)]

    @rule(name=st.sampled_from(NAMES))
    def a_processor_crashes_and_comes_back(self, name: str) -> None:
        self.processors[name] = Processor()

    @rule(name=st.sampled_from(NAMES), instead=st.sampled_from(NAMES))
    def a_processor_is_thought_dead_and_may_be_alive(self, name: str, instead: str) -> None:
        self._carry_out(self.coordinator.lost(name, instead))

    @rule(
        written=st.integers(0, 3),
        name=st.sampled_from(NAMES),
        instead=st.sampled_from(NAMES),
    )
    def the_coordinator_crashes_in_the_middle_of_a_step(
        self, written: int, name: str, instead: str
    ) -> None:
        self._carry_out(self.coordinator.lost(name, instead)[:written])
        self._coordinator_comes_back()

    @rule()
    def the_coordinator_crashes(self) -> None:
        self._coordinator_comes_back()

    # What must hold.

    @invariant()
    def what_was_delivered_is_what_should_have_been(self) -> None:
        assert self.delivered == self._expected()[: len(self.delivered)]

    def teardown(self) -> None:
        """When nothing fails any more, all that came is delivered, once and in its order."""
        for _ in range(200):
            if len(self.delivered) == len(self.source) and not self.to_processors:
                break
            self._settle()
        assert self.delivered == self._expected()

    # How it is carried out.

    def _settle(self) -> None:
        self.the_coordinator_says_it_again()
        while self.to_processors:
            self.a_processor_hears_something(0, repeated=False)
        for name, processor in self.processors.items():
            for job in list(processor.jobs):
                self._do(name, job)
        while self.to_coordinator:
            self.the_coordinator_hears_something(0, repeated=False)

    def _coordinator_comes_back(self) -> None:
        self.coordinator = Coordinator(self.journal)
        for unit in "ab":
            for number in range(self.coordinator.units[unit].done):
                self._use(unit, number)
        # A run of a for each train that came while the coordinator was away.
        for number in range(len(self.coordinator.units["a"].runs), len(self.source)):
            self._carry_out(self.coordinator.record("a", (("s", number),)))

    def _carry_out(self, steps: list[Step]) -> None:
        for step in steps:
            match step:
                case Say(processor, message):
                    self.to_processors.append((processor, message))
                case Available(unit, number):
                    self._use(unit, number)
                case _:
                    self.journal.append(step)

    def _use(self, unit: str, number: int) -> None:
        """Record the reader's run, or deliver: each once, in order, whatever is told again."""
        if unit == "a" and number == len(self.coordinator.units["b"].runs):
            self._carry_out(self.coordinator.record("b", (("a", number),)))
        if unit == "b" and number == len(self.delivered):
            self.delivered.append(self.made["b", number])

    def _answer(self, name: str, answers: list[Answer]) -> None:
        for each in answers:
            if isinstance(each, Job):
                self.processors[name].jobs.append(each)
            else:
                self.to_coordinator.append((name, each))

    def _do(self, name: str, job: Job) -> None:
        processor = self.processors[name]
        outputs = processor.outputs.setdefault(job.unit, {})
        place = (job.unit, job.epoch)
        match job.work:
            case Work.LOAD:
                processor.states[place] = self.saves[job.unit, job.number][0]
            case Work.RUN:
                value = self._fetch(job.inputs[0])
                if value is None:
                    return  # it has to be made again first
                state = processor.states[place] = fold(processor.states[place], value)
                outputs[job.number] = state
                assert self.made.setdefault((job.unit, job.number), state) == state
            case Work.SAVE:
                save = (
                    processor.states[place],
                    {n: o for n, o in outputs.items() if n < job.number},
                )
                before = self.saves.setdefault((job.unit, job.number), save)
                assert before[0] == save[0]
        processor.jobs.remove(job)
        self._answer(name, processor.side.done(job))

    def _fetch(self, train: Train) -> int | None:
        """Return what a train holds, from whoever has it."""
        writer, number = train
        if writer == "s":
            return self.source[number]
        outputs = [each.outputs.get(writer, {}) for each in self.processors.values()]
        outputs += [output for (unit, _), (_, output) in self.saves.items() if unit == writer]
        return next((each[number] for each in outputs if number in each), None)

    def _expected(self) -> list[int]:
        found, a, b = [], 0, 0
        for value in self.source:
            a = fold(a, value)
            b = fold(b, a)
            found.append(b)
        return found


TestWorld = World.TestCase
TestWorld.settings = settings(max_examples=examples(300), stateful_step_count=60, deadline=None)


def test_upstream_never_waits_for_a_move() -> None:
    """Runs are recorded while a unit is on its way, and done in their order when it is there."""
    world = World()
    world._settle()
    world.a_train_comes(1)
    world._settle()
    world.a_unit_is_to_move("a", "r")
    assert world.coordinator.units["a"].phase is Phase.RELEASING
    world.a_train_comes(2)
    world.a_train_comes(3)
    assert len(world.coordinator.units["a"].runs) == 3
    for _ in range(6):
        world._settle()
    assert world.coordinator.units["a"].processor == "r"
    assert len(world.delivered) == 3
    world.teardown()


def test_a_move_is_five_messages_and_one_record() -> None:
    world = World()
    for _ in range(3):
        world._settle()
    before, said = len(world.journal), []
    world.a_unit_is_to_move("a", "r")
    while world.to_processors or world.to_coordinator or world.processors["p"].jobs:
        said += [message for _, message in (*world.to_processors, *world.to_coordinator)]
        for name, message in world.to_processors[:]:
            world.to_processors.remove((name, message))
            world._answer(name, world.processors[name].side.receive(message))
        for name in NAMES:
            for job in list(world.processors[name].jobs):
                world._do(name, job)
        while world.to_coordinator:
            said.append(world.to_coordinator[0][1])
            world.the_coordinator_hears_something(0, repeated=False)
    kinds = [type(each).__name__ for each in said]
    assert kinds == ["Release", "Released", "Forget", "Adopt", "Adopted"]
    assert len(world.journal) == before + 1


def test_a_processor_that_came_back_with_less_than_it_said_is_asked_for_that_first() -> None:
    """An answer from before its crash is heard after it, in the same epoch."""
    coordinator = Coordinator(
        [Placed("a", "p", 1, 0), *[Recorded("a", n, (("s", n),)) for n in range(9)]]
    )
    before, after = ProcessorSide(), ProcessorSide()
    (load,) = before.receive(Adopt("a", 1, 0))
    assert isinstance(load, Job)
    before.done(load)
    for number in range(3):
        (job,) = before.receive(Run("a", 1, number, (("s", number),)))
        assert isinstance(job, Job)
        before.done(job)
    (late,) = before.receive(Adopt("a", 1, 0))
    assert late == Adopted("a", 1, 3)
    (load,) = after.receive(Adopt("a", 1, 0))
    assert isinstance(load, Job)
    after.done(load)
    said = coordinator.receive("p", late)[-1]
    assert said == Say("p", Run("a", 1, 3, (("s", 3),)))
    (behind,) = after.receive(said.message)
    assert behind == Adopted("a", 1, 0)
    assert coordinator.receive("p", behind) == [Say("p", Run("a", 1, 0, (("s", 0),)))]


def test_what_is_said_in_another_epoch_changes_nothing() -> None:
    coordinator = Coordinator([Placed("a", "p", 1, 0), Placed("a", "q", 2, 0)])
    before = coordinator.units
    for late in (Adopted("a", 1, 0), Ran("a", 1, 0), Released("a", 1, 5), Unknown("a", 1)):
        assert coordinator.receive("p", late) == [Say("p", Forget("a", 1))]
    assert coordinator.units == before


def test_a_unit_that_is_to_go_begins_no_more_runs() -> None:
    side = ProcessorSide()
    (load,) = side.receive(Adopt("a", 1, 0))
    assert isinstance(load, Job)
    side.done(load)
    (save,) = side.receive(Release("a", 1))
    assert isinstance(save, Job)
    assert side.receive(Run("a", 1, 0, (("s", 0),))) == []
    assert side.done(save) == [Released("a", 1, 0)]
    assert side.receive(Run("a", 1, 0, (("s", 0),))) == []
