"""Punctuations on their way through a topology that dies: in their place, and told once."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.states import KeptState
from penstock.engine.states.state import Run, RunOutput
from penstock.engine.trains.rows import empty_table
from penstock.model.schema import Schema
from penstock.plan import operators as operators_module
from penstock.plan.operators import EventTime, Operator, Project, Union, key
from penstock.runtime.sources.source_reader import SourceReader
from penstock.runtime.topology import connection as connecting
from penstock.runtime.topology import restoration
from tests.examples import examples
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import SCHEMA, DeathError, Hall, chain, scan


@dataclass(frozen=True, slots=True)
class Listen:
    """A stateful operator that writes down what it hears."""

    input: Operator
    schema: Schema = SCHEMA
    times: tuple[EventTime, ...] = (EventTime("ts"),)

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.input,)

    def text(self) -> str:
        return "listen"

    def sql(self, inputs: Sequence[str]) -> str:
        return f"SELECT * FROM {inputs[0]}"


@dataclass
class ListenState:
    heard: list[int | str] = field(default_factory=list)

    def step(self, run: Run) -> RunOutput:
        whole = run.processor.flow(run.unit, run.rows)
        self.heard = self.heard + whole["n"].to_pylist()
        return RunOutput(whole)

    def punctuate(self, run: Run, conditions: Mapping[int, str]) -> RunOutput:
        self.heard = [*self.heard, *conditions.values()]
        return RunOutput(empty_table(SCHEMA))

    def promise(self, marks: Sequence[int]) -> int:
        return marks[0]

    def kept(self) -> KeptState:
        return KeptState({"heard": self.heard})


@pytest.fixture(scope="module", autouse=True)
def twins() -> Iterator[None]:
    with arrow_without_spark(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(operators_module, "STATEFUL", (*operators_module.STATEFUL, Listen))
        patch.setattr(connecting, "new_state", lambda *_: ListenState())
        patch.setattr(
            restoration, "restored", lambda _, kept: ListenState(list(kept.facts["heard"]))
        )
        yield


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    return Hall(tmp_path / "home", ("s", "t"))


def source_reader_of(hall: Hall, stream: str = "s") -> SourceReader:
    return hall.topology.source_readers[key(scan(stream))]


def punctuate(hall: Hall, condition: str, stream: str = "s") -> bool:
    hall.catch_up()
    told = source_reader_of(hall, stream).punctuate(condition, hall.journal, hall.clock.now())
    hall.checkpoint()
    return told


def heard(hall: Hall, root: Operator) -> list[int | str]:
    state = hall.topology.units[key(root)].state
    assert isinstance(state, ListenState)
    return state.heard


def test_a_punctuation_comes_behind_what_waited_and_before_what_follows(hall: Hall) -> None:
    root = Listen(chain("s", "x"))
    hall.add("a", root)
    hall.push("s", 1)
    hall.push("s", 2)
    assert punctuate(hall, "`n` = 1")
    hall.push("s", 3)
    hall.drain()
    assert heard(hall, root) == [1, 2, "`n` = 1", 3]
    assert hall.delivered("a") == [1, 2, 3]


def test_it_goes_through_other_queries_under_their_names(hall: Hall) -> None:
    columns = (("ts", "`ts`"), ("n", "`n` + 1"), ("m", "`n`"))
    named = Project(chain("s", "x"), columns, SCHEMA, (EventTime("ts"),))
    lost = Project(chain("s", "x"), columns[:2], SCHEMA, (EventTime("ts"),))
    both = Union((chain("s", "x"), scan("t")), SCHEMA, (EventTime("ts"),))
    roots = [Listen(node) for node in (named, lost, both)]
    for number, root in enumerate((named, lost, both, *roots)):
        hall.add(f"q{number}", root)
    punctuate(hall, "`n` = 1")
    hall.drain()
    assert [heard(hall, root) for root in roots] == [["`m` = 1"], [], []]


def test_after_the_end_there_is_nothing_to_say(hall: Hall) -> None:
    hall.add("a", chain("s", "x"))
    hall.end("s")
    hall.take_in()
    assert not punctuate(hall, "`n` = 1")


STEPS = st.lists(
    st.sampled_from(
        ["push", "say", "take_in", "turn", "deliver", "checkpoint", "die"]
        + [f"{what} {when}" for what in ("turn", "take_in") for when in ("before", "after")]
    ),
    max_size=30,
)


@given(STEPS)
@settings(deadline=None, max_examples=examples(100))
def test_everybody_hears_it_once_and_in_its_place_whatever_dies(steps: list[str]) -> None:
    with tempfile.TemporaryDirectory() as home:
        hall = Hall(Path(home) / "home")
        roots = [Listen(chain("s", "x")), Listen(chain("s", "xy"))]
        hall.add("flow", chain("s", "x"))
        for number, root in enumerate(roots):
            hall.add(f"q{number}", root)
        said: list[int | str] = []
        for step in steps:
            hall.clock.sleep(2)
            what, _, when = step.partition(" ")
            if what == "push":
                hall.push("s", len(said))
                said.append(len(said))
            elif what == "say":
                punctuate(hall, f"`n` = {len(said)}")
                said.append(f"`n` = {len(said)}")
            elif when:
                hall.pool.dies = when
                try:
                    getattr(hall, what)()
                except DeathError:
                    hall.die()
                hall.pool.dies = ""
            else:
                getattr(hall, what)()
        hall.drain()
        assert [heard(hall, root) for root in roots] == [said, said]
        rows = [each for each in said if isinstance(each, int)]
        assert hall.delivered("q0") == hall.delivered("q1") == hall.delivered("flow") == rows
