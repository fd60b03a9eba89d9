"""History as the first rows of a unit that asks for it: each train once, also over deaths."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.states import KeptPart, KeptState
from penstock.engine.states.state import Run, RunOutput
from penstock.engine.trains.buffers import BufferBounds
from penstock.engine.trains.rows import in_memory
from penstock.model.schema import Schema
from penstock.model.trains import BEGIN_OF_TIME
from penstock.plan import operators as operators_module
from penstock.plan.operators import EventTime, Operator, key
from penstock.runtime.sources.history import gone_before
from penstock.runtime.topology import connection as connecting
from penstock.runtime.topology import restoration
from tests.examples import examples
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import SCHEMA, DeathError, Hall, chain, scan, table

DAY = {"archive_for": timedelta(days=1)}
TINY = BufferBounds(buffer_bytes=40, total_bytes=80, keep_bytes=0)


@dataclass(frozen=True, slots=True)
class Recall:
    """A stateful operator that hands on what it reads, history first."""

    input: Operator
    reads_history: bool = True
    schema: Schema = SCHEMA
    times: tuple[EventTime, ...] = (EventTime("ts"),)

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.input,)

    def text(self) -> str:
        return f"recall {self.reads_history}"

    def sql(self, inputs: Sequence[str]) -> str:
        return f"SELECT * FROM {inputs[0]}"


@dataclass
class RecallState:
    begin: int
    seen: list[int] = field(default_factory=list)

    def step(self, run: Run) -> RunOutput:
        whole = run.processor.flow(run.unit, run.rows)
        self.seen = self.seen + whole["n"].to_pylist()
        return RunOutput(whole)

    def promise(self, marks: Sequence[int]) -> int:
        return marks[0]

    def kept(self) -> KeptState:
        rows = in_memory(table(self.seen))
        return KeptState({"begin": self.begin}, [KeptPart(rows)] if self.seen else [])


def back(_: Operator, kept: KeptState) -> RecallState:
    seen = [n for part in kept.parts for n in part.rows.to_table(SCHEMA)["n"].to_pylist()]
    return RecallState(kept.facts["begin"], seen)


@pytest.fixture(scope="module", autouse=True)
def twins() -> Iterator[None]:
    with arrow_without_spark(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(operators_module, "STATEFUL", (*operators_module.STATEFUL, Recall))
        patch.setattr(connecting, "new_state", lambda _, begin: RecallState(begin))
        patch.setattr(restoration, "restored", back)
        yield


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    return Hall(tmp_path / "home", clauses=DAY, bounds=TINY)


def numbers(parts: list[Any]) -> list[int]:
    return [n for rows in parts for n in rows.to_table(SCHEMA)["n"].to_pylist()]


def test_history_is_the_archive_and_what_is_not_in_it_yet(hall: Hall) -> None:
    hall.add("a", chain("s", "x"))
    for n in (1, 2):
        hall.push("s", n)
    hall.drain()
    hall.push("s", 3)
    hall.take_in()  # neither run nor archived
    assert numbers(hall.topology.history(scan("s"))) == [1, 2, 3]
    assert hall.topology.history_from(scan("s")) == 1


def test_without_an_archive_history_is_what_the_buffer_still_holds(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    hall.add("a", chain("s", "x"))
    assert hall.topology.history_from(scan("s")) is None
    hall.push("s", 1)
    hall.push("s", 5)
    hall.drain()
    assert numbers(hall.topology.history(scan("s"))) == [1, 5]
    assert hall.topology.history_from(scan("s")) == 1
    hall.checkpoint()
    hall.die()
    assert numbers(hall.topology.history(scan("s"))) == []
    assert hall.topology.history_from(scan("s")) == 6


def test_a_new_unit_begins_with_history_and_without_waiting_for_a_train(hall: Hall) -> None:
    hall.push("s", 1, 2)
    hall.drain()
    hall.add("a", Recall(scan("s")))
    assert not hall.topology.is_drained()
    state = hall.topology.units[key(hall.roots["a"])].state
    assert isinstance(state, RecallState)
    assert state.begin == BEGIN_OF_TIME
    hall.drain()
    assert hall.delivered("a") == [1, 2]
    hall.push("s", 3)
    hall.drain()
    assert hall.delivered("a") == [1, 2, 3]


def test_only_operators_that_ask_for_it_get_history(hall: Hall) -> None:
    hall.push("s", 1, 2)
    hall.drain()
    hall.add("a", Recall(scan("s"), reads_history=False))
    hall.push("s", 3)
    hall.drain()
    assert hall.delivered("a") == [3]


def test_history_is_seen_through_what_other_queries_share(hall: Hall) -> None:
    hall.add("a", chain("s", "x"))
    hall.push("s", 1)
    hall.drain()
    query = hall.add("b", Recall(chain("s", "x")))
    hall.add("c", chain("s", "xy"))
    hall.push("s", 2)
    hall.drain()
    assert hall.topology.rows_in(query) == 2
    assert (hall.delivered("a"), hall.delivered("b")) == ([1, 2], [1, 2])


def test_a_query_over_an_ended_stream_still_reads_its_history(hall: Hall) -> None:
    hall.push("s", 1)
    hall.end("s")
    hall.drain()
    hall.add("a", Recall(scan("s")))
    hall.drain()
    assert hall.delivered("a") == [1]
    assert hall.topology.is_drained()


def test_history_leaves_no_files_behind(hall: Hall) -> None:
    hall.push("s", 1, 2)
    hall.drain()
    hall.add("a", Recall(scan("s")))
    assert list((hall.home / "state").iterdir())
    hall.drain()
    hall.checkpoint()
    hall.checkpoint()  # the one before it stays, with its files
    spilled = list((hall.home / "spill").iterdir()) if (hall.home / "spill").exists() else []
    held = [part for live in hall.topology.units.values() for part in live.history.values()]
    assert (spilled, held) == ([], [])
    # The state's own rows, as each of the two has them.
    assert len(list((hall.home / "state").iterdir())) == 2


STEPS = st.lists(
    st.sampled_from(
        ["push", "take_in", "put_away", "turn", "deliver", "checkpoint", "die", "add", "add_other"]
        + [f"{what} {when}" for what in ("turn", "take_in") for when in ("before", "after")]
    ),
    max_size=30,
)


@given(STEPS)
@settings(deadline=None, max_examples=examples(100))
def test_a_unit_gets_all_that_there_ever_was_once_and_in_order(steps: list[str]) -> None:
    with tempfile.TemporaryDirectory() as home:
        hall = Hall(Path(home) / "home", clauses=DAY, bounds=TINY)
        hall.add("other", chain("s", "x"))
        pushed = 0
        for step in steps:
            hall.clock.sleep(2)
            what, _, when = step.partition(" ")
            if what == "push":
                hall.push("s", pushed, pushed + 1)
                pushed += 2
            elif what == "add":
                hall.add(f"q{len(hall.roots)}", Recall(chain("s", "x" * len(hall.roots))))
            elif what == "add_other":
                hall.add(f"p{len(hall.roots)}", chain("s", "x" * (len(hall.roots) + 1)))
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
        for name in hall.roots:
            if name.startswith("q"):
                assert hall.delivered(name) == list(range(pushed))


@pytest.mark.parametrize(("begins", "told"), [(None, "no history"), (0, "1970-01-01")])
def test_a_window_before_history_is_told_where_it_begins(begins: int | None, told: str) -> None:
    error = gone_before("s", begins)
    assert error.code == "BAD_QUERY"
    assert told in error.message


def test_rows_of_history_are_of_one_type(hall: Hall) -> None:
    hall.push("s", 1)
    hall.drain()
    (rows,) = hall.topology.history(scan("s"))
    assert pa.types.is_int64(rows.to_table(SCHEMA).schema.field("n").type)
