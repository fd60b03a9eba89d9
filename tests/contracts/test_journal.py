import math
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from penstock.model.functions.time_outs import TimeOuts
from penstock.qos.shedding.worths import WorthCut
from penstock.runtime.durable.journal import Journal
from penstock.runtime.durable.journal_memory import MemoryJournal
from penstock.runtime.durable.journal_sqlite import SqliteJournal, SqlJournal
from tests.examples import examples
from tests.servers.journals import opened

KINDS: dict[str, Callable[[Path], Journal]] = {
    "memory": lambda _: MemoryJournal(),
    "sqlite": lambda directory: SqliteJournal(directory / "journal.db"),
    "sqlite, synced": lambda directory: SqliteJournal(directory / "journal.db", sync=True),
}
NAMES = st.sampled_from(["traffic", "Traffic", "x'; --"])
NUMBERS = st.integers(0, 6)


@pytest.fixture(params=[*KINDS, "postgresql"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    if request.param == "postgresql":
        made: Journal = SqlJournal(opened(request.getfixturevalue("postgres").database()))
    else:
        made = KINDS[request.param](tmp_path)
    yield made
    made.close()


def test_a_new_journal_knows_nothing(journal: Journal) -> None:
    assert journal.trains_after("traffic", 0) == []
    assert journal.runs_after("unit", 0) == []
    assert journal.last_delivery("query") == 0
    assert journal.delivered_rows("query") == 0
    assert journal.checkpoints() == []


def test_a_train_comes_back_as_it_was_recorded(journal: Journal) -> None:
    boundary = {
        "files": ["a.json", "na\udcefve"],
        "to": {"offset": 2**70, "part": 0.1, "end": None},
    }
    journal.record_train("traffic", 1, boundary, 1767225600.123456)
    (train,) = journal.trains_after("traffic", 0)
    assert train.stream == "traffic"
    assert train.number == 1
    assert train.boundary == boundary
    assert train.arrived == 1767225600.123456


def test_a_recorded_boundary_does_not_change_with_the_callers(journal: Journal) -> None:
    boundary = {"files": ["a.json"]}
    journal.record_train("traffic", 1, boundary, 0.0)
    boundary["files"].append("b.json")
    assert journal.trains_after("traffic", 0)[0].boundary == {"files": ["a.json"]}


def test_a_run_comes_back_with_its_ranges(journal: Journal) -> None:
    journal.record_run("unit", 1, {"traffic": (1, 4), "weather": (3, 3)})
    (run,) = journal.runs_after("unit", 0)
    assert (run.unit, run.number) == ("unit", 1)
    assert run.inputs == {"traffic": (1, 4), "weather": (3, 3)}


@pytest.mark.parametrize("cut", [None, WorthCut(-math.inf, 0.5), WorthCut(2.25, 1.0)])
def test_a_gate_s_run_comes_back_with_what_it_kept(journal: Journal, cut: WorthCut | None) -> None:
    journal.record_run("unit", 1, {"traffic": (1, 4)}, (1.0, 0.25, 0.5, 1.0), cut)
    (run,) = journal.runs_after("unit", 0)
    assert (run.keeps, run.cut) == ((1.0, 0.25, 0.5, 1.0), cut)
    assert run.inputs == {"traffic": (1, 4)}


@pytest.mark.parametrize(
    "found", [TimeOuts(1767225600.123456), TimeOuts(0.0, ((0, 0, 1), (2, 1, 0)))]
)
def test_a_flow_s_run_comes_back_with_what_the_clock_decided(
    journal: Journal, found: TimeOuts
) -> None:
    for number in (1, 2):
        journal.record_run("unit", number, {"traffic": (number, number)}, (0.5,))
    journal.note_time_outs("unit", 1, found)
    journal.note_time_outs("unit", 7, found)  # there is no such run
    first, second = journal.runs_after("unit", 0)
    assert (first.time_outs, second.time_outs) == (found, None)
    assert (first.inputs, first.keeps) == ({"traffic": (1, 1)}, (0.5,))


def test_only_what_is_above_the_number_comes_in_order(journal: Journal) -> None:
    for number in range(1, 12):
        journal.record_train("traffic", number, {"to": number}, 0.0)
    assert [train.number for train in journal.trains_after("traffic", 8)] == [9, 10, 11]


def test_names_are_apart(journal: Journal) -> None:
    journal.record_train("a", 1, {}, 0.0)
    journal.record_run("a", 1, {})
    journal.record_delivery("a", 1, 5)
    assert journal.trains_after("b", 0) == []
    assert journal.runs_after("b", 0) == []
    assert journal.last_delivery("b") == 0
    journal.record_train("b", 1, {}, 0.0)
    journal.record_run("A", 1, {})


@pytest.mark.parametrize("number", [0, 2, 4, -1])
def test_a_number_out_of_turn_is_refused_and_leaves_no_trace(journal: Journal, number: int) -> None:
    journal.record_train("traffic", 1, {}, 0.0)
    journal.record_train("traffic", 2, {}, 0.0)
    journal.record_run("unit", 1, {})
    journal.record_run("unit", 2, {})
    journal.record_delivery("query", 1, 10)
    journal.record_delivery("query", 2, 10)
    with pytest.raises(ValueError, match="must be 3"):
        journal.record_train("traffic", number, {"wrong": True}, 0.0)
    with pytest.raises(ValueError, match="must be 3"):
        journal.record_run("unit", number, {"wrong": (1, 1)})
    with pytest.raises(ValueError, match="must be 3"):
        journal.record_delivery("query", number, 99)
    assert [train.boundary for train in journal.trains_after("traffic", 0)] == [{}, {}]
    assert [run.inputs for run in journal.runs_after("unit", 0)] == [{}, {}]
    assert (journal.last_delivery("query"), journal.delivered_rows("query")) == (2, 20)


def test_deliveries_add_up(journal: Journal) -> None:
    for number, rows in enumerate([3, 0, 7], start=1):
        journal.record_delivery("query", number, rows)
    assert (journal.last_delivery("query"), journal.delivered_rows("query")) == (3, 10)


def test_a_checkpoint_replaces_the_one_before(journal: Journal) -> None:
    assert journal.write_checkpoint({"state": "a"}, trains={}, runs={}) == 1
    assert journal.write_checkpoint({"state": "b", "parts": [1]}, trains={}, runs={}) == 2
    last = journal.checkpoint(journal.checkpoints()[0])
    assert (last.number, last.manifest) == (2, {"state": "b", "parts": [1]})


def test_a_checkpoint_puts_an_end_to_what_lies_before_it(journal: Journal) -> None:
    record_five(journal)
    journal.write_checkpoint({}, trains={"traffic": 3}, runs={"unit": 5})
    assert [train.number for train in journal.trains_after("traffic", 0)] == [4, 5]
    assert journal.runs_after("unit", 0) == []
    assert journal.last_delivery("query") == 5


def test_numbers_go_on_after_everything_was_trimmed(journal: Journal) -> None:
    record_five(journal)
    journal.write_checkpoint({}, trains={"traffic": 5}, runs={"unit": 5})
    journal.write_checkpoint({}, trains={"traffic": 5}, runs={"unit": 5})
    with pytest.raises(ValueError, match="must be 6"):
        journal.record_train("traffic", 1, {}, 0.0)
    journal.record_train("traffic", 6, {}, 0.0)
    journal.record_run("unit", 6, {})
    assert [train.number for train in journal.trains_after("traffic", 0)] == [6]


def test_trimming_beyond_the_end_or_the_unknown_moves_no_number(journal: Journal) -> None:
    record_five(journal)
    journal.write_checkpoint({}, trains={"traffic": 99, "gone": 7}, runs={"gone": 7})
    journal.record_train("traffic", 6, {}, 0.0)
    journal.record_train("gone", 1, {}, 0.0)
    journal.record_run("gone", 1, {})


def test_what_is_forgotten_starts_at_one_again(journal: Journal) -> None:
    record_five(journal)
    journal.write_checkpoint({}, trains={"traffic": 2}, runs={"unit": 2})
    journal.forget_stream("traffic")
    journal.forget_unit("unit")
    assert journal.trains_after("traffic", 0) == []
    assert journal.runs_after("unit", 0) == []
    journal.record_train("traffic", 1, {}, 0.0)
    journal.record_run("unit", 1, {})


def test_forgetting_the_unknown_is_no_error(journal: Journal) -> None:
    journal.forget_stream("traffic")
    journal.forget_unit("unit")


def test_together_is_all_or_nothing(journal: Journal) -> None:
    record_five(journal)
    journal.write_checkpoint({"old": True}, trains={}, runs={})

    def step() -> None:
        journal.record_train("traffic", 6, {}, 0.0)
        journal.record_run("unit", 6, {})
        journal.record_delivery("query", 6, 1)
        journal.forget_unit("unit")
        journal.write_checkpoint({"new": True}, trains={"traffic": 5}, runs={})

    assert_falls(journal, step)
    assert len(journal.trains_after("traffic", 0)) == 5
    assert len(journal.runs_after("unit", 0)) == 5
    assert (journal.last_delivery("query"), journal.delivered_rows("query")) == (5, 5)
    assert [journal.checkpoint(each).manifest for each in journal.checkpoints()] == [{"old": True}]
    journal.record_train("traffic", 6, {}, 0.0)


def test_together_holds_when_it_ends_well(journal: Journal) -> None:
    with journal.together():
        record_five(journal)
        assert len(journal.trains_after("traffic", 0)) == 5
    assert len(journal.trains_after("traffic", 0)) == 5


def test_a_step_inside_a_step_falls_with_it(journal: Journal) -> None:
    def step() -> None:
        with journal.together():
            journal.record_train("traffic", 1, {}, 0.0)

    assert_falls(journal, step)
    assert journal.trains_after("traffic", 0) == []


def test_a_refused_number_inside_a_step_spoils_only_itself(journal: Journal) -> None:
    with journal.together():
        journal.record_train("traffic", 1, {}, 0.0)
        with pytest.raises(ValueError, match="must be 2"):
            journal.record_train("traffic", 7, {}, 0.0)
        journal.record_train("traffic", 2, {}, 0.0)
    assert len(journal.trains_after("traffic", 0)) == 2


def test_many_threads_lose_nothing(journal: Journal) -> None:
    def work(unit: str) -> None:
        for number in range(1, 101):
            with journal.together():
                journal.record_run(unit, number, {"traffic": (number, number)})
                journal.record_delivery(unit, number, 1)

    units = [f"unit-{n}" for n in range(4)]
    threads = [threading.Thread(target=work, args=(unit,)) for unit in units]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(journal.runs_after(unit, 0)) for unit in units] == [100] * 4
    assert [journal.delivered_rows(unit) for unit in units] == [100] * 4


def test_a_step_is_not_mixed_with_other_threads_records(journal: Journal) -> None:
    inside, other_done = threading.Event(), threading.Event()

    def other() -> None:
        inside.wait()
        journal.record_run("other", 1, {})
        other_done.set()

    thread = threading.Thread(target=other)
    thread.start()

    def step() -> None:
        journal.record_run("unit", 1, {})
        inside.set()
        assert not other_done.wait(0.02)

    assert_falls(journal, step)
    thread.join()
    assert journal.runs_after("unit", 0) == []
    assert len(journal.runs_after("other", 0)) == 1


def assert_falls(journal: Journal, step: Callable[[], None]) -> None:
    """Take a step that fails at its end."""

    def fail() -> None:
        with journal.together():
            step()
            raise KeyError

    with pytest.raises(KeyError):
        fail()


def record_five(journal: Journal) -> None:
    """Record five trains, runs and deliveries."""
    for number in range(1, 6):
        journal.record_train("traffic", number, {"to": number}, float(number))
        journal.record_run("unit", number, {"traffic": (number, number)})
        journal.record_delivery("query", number, 1)


class JournalsAgree(RuleBasedStateMachine):
    """Whatever is asked of them in whatever order, the twin and the file answer alike."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = TemporaryDirectory()
        self.path = Path(self.directory.name) / "journal.db"
        self.memory: Journal = MemoryJournal()
        self.sqlite: Journal = SqliteJournal(self.path)

    def teardown(self) -> None:
        self.sqlite.close()
        self.directory.cleanup()

    @rule(name=NAMES, number=NUMBERS)
    def record_train(self, name: str, number: int) -> None:
        self.both(lambda journal: journal.record_train(name, number, {"to": number}, 0.5))

    @rule(name=NAMES, step=st.integers(1, 3))
    def record_next_runs(self, name: str, step: int) -> None:
        def act(journal: Journal) -> None:
            last = max([run.number for run in journal.runs_after(name, 0)], default=0)
            for number in range(last + 1, last + 1 + step):
                journal.record_run(name, number, {"b": (number, number)})

        self.both(act)

    @rule(name=NAMES, number=NUMBERS, rows=NUMBERS)
    def record_delivery(self, name: str, number: int, rows: int) -> None:
        self.both(lambda journal: journal.record_delivery(name, number, rows))

    @rule(trains=st.dictionaries(NAMES, NUMBERS), runs=st.dictionaries(NAMES, NUMBERS))
    def write_checkpoint(self, trains: dict[str, int], runs: dict[str, int]) -> None:
        self.both(lambda journal: journal.write_checkpoint(trains, trains=trains, runs=runs))

    @rule(back=st.integers(0, 2))
    def keep_another(self, back: int) -> None:
        def act(journal: Journal) -> list[int]:
            keep = max(journal.checkpoints(), default=0) - back
            journal.write_checkpoint({"back": back}, trains={}, runs={}, keep=keep)
            return journal.checkpoints()

        self.both(act)

    @rule(name=NAMES)
    def forget(self, name: str) -> None:
        self.both(lambda journal: journal.forget_stream(name))
        self.both(lambda journal: journal.forget_unit(name))

    @rule(name=NAMES, number=NUMBERS, fails=st.booleans())
    def together(self, name: str, number: int, fails: bool) -> None:
        def act(journal: Journal) -> None:
            with journal.together():
                journal.record_train(name, number, {}, 1.0)
                journal.write_checkpoint({}, trains={name: number - 1}, runs={name: number})
                journal.forget_unit(name)
                if fails:
                    raise ValueError

        self.both(act)

    @rule()
    def reopen(self) -> None:
        self.sqlite.close()
        self.sqlite = SqliteJournal(self.path)

    @rule(name=NAMES, number=NUMBERS)
    def read(self, name: str, number: int) -> None:
        self.both(lambda journal: journal.trains_after(name, number))
        self.both(lambda journal: journal.runs_after(name, number))
        self.both(lambda journal: journal.last_delivery(name))
        self.both(lambda journal: journal.delivered_rows(name))
        self.both(lambda journal: [journal.checkpoint(each) for each in journal.checkpoints()])

    def both(self, act: Callable[[Journal], Any]) -> None:
        assert outcome(act, self.memory) == outcome(act, self.sqlite)


def outcome(act: Callable[[Journal], Any], journal: Journal) -> Any:
    """Return what came of it, a complaint included."""
    try:
        return act(journal)
    except ValueError as error:
        return str(error)


TestJournalsAgree = JournalsAgree.TestCase
TestJournalsAgree.settings = settings(
    max_examples=examples(60), stateful_step_count=30, deadline=None
)
