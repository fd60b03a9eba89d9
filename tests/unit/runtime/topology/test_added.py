"""A checkpoint at a change writes down what the change has made, and recovery needs no more."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.plan.operators import key
from penstock.runtime.topology.added import added_to, only_adds
from penstock.runtime.topology.checkpoint import write_addition
from tests.examples import examples
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import Hall, chain, scan

CHAINS = st.text(alphabet="xyz", min_size=1, max_size=3)
ACTIONS = st.sampled_from(["push", "take in", "turn", "deliver", "checkpoint"])


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    return Hall(tmp_path / "home", ("s", "t"))


def last(hall: Hall) -> int:
    assert hall.topology.checkpoint is not None
    return hall.topology.checkpoint.number


def work(hall: Hall, *numbers: int, stream: str = "s") -> None:
    for number in numbers:
        hall.push(stream, number)
        hall.drain()


def test_what_a_change_leaves_alone_keeps_its_last_record(hall: Hall) -> None:
    hall.add("a", chain("s", "x"))
    hall.checkpoint()
    kept = hall.topology.checkpoint
    assert kept is not None
    work(hall, 1, 2)
    hall.add("b", chain("t", "y"))
    found = hall.topology.checkpoint
    assert found is not None
    unit, stream = key(chain("s", "x")), key(scan("s"))
    assert found.manifest.units[unit] == kept.manifest.units[unit]
    assert found.manifest.queries["a"] == kept.manifest.queries["a"]
    assert found.manifest.source_readers[stream] == kept.manifest.source_readers[stream]
    assert [run.number for run in hall.journal.runs_after(f"unit:{unit}", 0)] == [1, 2]


@pytest.mark.parametrize("second", ["x", "xz", "xyz", "y"])
def test_a_query_that_comes_in_begins_there_also_after_a_death(hall: Hall, second: str) -> None:
    hall.add("a", chain("s", "xy"))
    hall.checkpoint()
    work(hall, 1, 2)
    hall.add("b", chain("s", second))
    work(hall, 3)
    hall.die()
    work(hall, 4)
    assert hall.delivered("a") == [1, 2, 3, 4]
    assert hall.delivered("b") == [3, 4]
    assert not hall.topology.is_replaying()


def test_what_reads_a_unit_that_is_cut_otherwise_is_written_down_too(hall: Hall) -> None:
    hall.add("a", chain("s", "xyz"))
    hall.add("b", chain("s", "xy"))
    hall.checkpoint()
    kept = hall.topology.checkpoint
    assert kept is not None
    hall.remember("c", chain("s", "x"))
    hall._run("c", chain("s", "x"))
    hall.reconnect()
    added = added_to(hall.topology, kept.manifest)
    assert added.queries == {"a", "b", "c"}
    assert added.units == hall.topology.units.keys()


def test_a_unit_that_was_made_anew_under_its_old_name_is_written_down(hall: Hall) -> None:
    hall.add("a", chain("s", "x"))
    hall.checkpoint()
    assert hall.topology.checkpoint is not None
    manifest, name = hall.topology.checkpoint.manifest, key(chain("s", "x"))
    assert not added_to(hall.topology, manifest).units
    hall.topology.recut.add(name)  # as connecting it does
    added = added_to(hall.topology, manifest)
    assert (added.units, added.buffers, added.queries) == ({name}, {name}, {"a"})


def test_what_goes_needs_a_whole_checkpoint(hall: Hall) -> None:
    hall.add("a", chain("s", "x"))
    hall.add("b", chain("s", "y"))
    assert hall.topology.checkpoint is not None
    assert only_adds(hall.topology, hall.topology.checkpoint.manifest, {})
    query = hall.topology.queries.pop("b")
    hall.topology.gone.add(query.reader)
    before = last(hall)
    assert not write_addition(hall.topology, hall.journal, hall.home / "state")
    assert last(hall) == before


@given(st.lists(CHAINS | ACTIONS, min_size=4, max_size=24), st.data())
@settings(deadline=None, max_examples=examples(400))
def test_queries_that_come_at_any_time_lose_and_repeat_nothing_over_deaths(
    tmp_path_factory: pytest.TempPathFactory, actions: list[str], data: st.DataObject
) -> None:
    hall = Hall(tmp_path_factory.mktemp("hall") / "home")
    hall.add("q", chain("s", "xy"))
    begun, number = {"q": 0}, 0
    for action in actions:
        hall.clock.sleep(2)
        if action == "push":
            hall.push("s", number := number + 1)
        elif action in ("take in", "turn", "deliver", "checkpoint"):
            hall.do(action)
        else:
            hall.add(name := f"q{len(begun)}", chain("s", action))
            begun[name] = last_read(hall)
        if data.draw(st.integers(0, 5)) == 0:
            hall.die()
    hall.die()
    hall.drain()
    for name, read in begun.items():  # an operator that stands may have some yet to give
        found = hall.delivered(name)
        assert found == [*range(number + 1 - len(found), number + 1)], name
        assert len(found) >= number - read, name


def last_read(hall: Hall) -> int:
    """Return the last number that has been read: who comes now begins behind it, or before.

    After a death the buffer may be behind what the journal has as read, and others have taken.
    """
    buffer = hall.topology.buffers.get(key(scan("s")))
    assert buffer is not None
    recorded = hall.journal.trains_after(buffer.key, 0)
    return max([buffer.high or 0, *(train.boundary["at"] + 1 for train in recorded)])
