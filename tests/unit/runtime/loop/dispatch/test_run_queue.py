"""Who is ready is the same whether all are asked or only those of which something changed."""

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import astuple
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.loop.dispatch.run_queue import Ready, RunQueue
from penstock.schedule.batching import FixedLength
from tests.examples import examples
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import Hall, chain

ACTIONS = ("push", "take in", "turn", "deliver", "die", "add", "drop", "end", "look")


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def figures(found: Mapping[str, Ready]) -> dict[str, tuple[object, ...]]:
    return {name: astuple(each.unit) for name, each in found.items()}


def all_asked(hall: Hall) -> dict[str, Ready]:
    """Return who is ready by asking everybody."""
    known = hall.dispatcher.run_queue
    fresh = RunQueue(hall.topology, hall.pool, known.shedding_controller, known.batching)
    for name in hall.topology.units:
        fresh._ask(name, hall.clock.now())
    return fresh._ready


@given(st.lists(st.sampled_from(ACTIONS), max_size=25))
@settings(max_examples=examples(80))
def test_nobody_is_missed_and_nobody_is_ready_in_vain(actions: list[str]) -> None:
    with tempfile.TemporaryDirectory() as home:
        hall = Hall(Path(home) / "home")
        hall.add("a", chain("s", "xy"))
        pushed, ended = 0, False
        for number, action in enumerate(actions):
            match action:
                case "push" if not ended:
                    hall.push("s", pushed)
                    pushed += 1
                case "end" if not ended:
                    hall.end("s")
                    ended = True
                case "add":
                    hall.add(f"q{number}", chain("s", f"x{'abcdefgh'[number % 8]}"))
                case "drop" if len(hall.topology.queries) > 1:
                    hall.drop(next(iter(hall.topology.queries)))
                case "take in" | "turn" | "deliver" | "die":
                    hall.do(action)
            seen = hall.dispatcher.run_queue.look(hall.clock.now())
            assert figures(seen) == figures(all_asked(hall))


def test_a_batching_rule_bounds_what_one_run_takes(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    hall.dispatcher.run_queue.batching = FixedLength(3)
    hall.add("a", chain("s", "x"))
    for number in range(5):
        hall.push("s", 2 * number, 2 * number + 1)
    for _ in range(5):
        hall.take_in()
    hall.drain()
    assert [len(rows) for _, rows in hall.processor.runs] == [4, 4, 2]
    assert hall.delivered("a") == list(range(10))
