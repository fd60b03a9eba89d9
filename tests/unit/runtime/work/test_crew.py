import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.work.crew import Crew
from tests.examples import examples

LONG = 300.0  # seconds; nothing here may take half as long
KINDS = ("feed", "unit", "query")


@pytest.fixture
def crew() -> Iterator[Crew]:
    crew = Crew(slots=2)
    yield crew
    crew.dismiss()


def note(found: list[object]) -> Callable[[Future[object]], None]:
    return lambda future: found.append(future.result())


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_done_is_finished_by_whoever_settles(crew: Crew, kind: str) -> None:
    threads: list[threading.Thread] = []

    def finish(future: Future[object]) -> None:
        threads.extend([future.result(), threading.current_thread()])  # type: ignore[list-item]

    crew.submit(f"{kind}:a", threading.current_thread, finish)
    crew.settle_all(LONG)
    worker, settler = threads
    assert settler is threading.current_thread()
    assert worker is not settler


def test_one_is_busy_until_it_is_settled(crew: Crew) -> None:
    go, found = threading.Event(), []
    crew.submit("unit:a", lambda: go.wait(LONG), note(found))
    assert crew.is_busy("unit:a")
    assert not crew.is_busy("unit:b")
    assert (crew.free_slots, crew.is_idle) == (1, False)
    crew.settle()
    assert crew.is_busy("unit:a")
    go.set()
    crew.wait(LONG)
    assert crew.is_busy("unit:a")
    assert not crew.is_idle
    crew.settle()
    assert (found, crew.is_idle, crew.free_slots) == ([True], True, 2)


def test_nobody_waits_for_a_sink(crew: Crew) -> None:
    go, found = threading.Event(), []
    crew.submit("sink:query:a", lambda: go.wait(LONG), note(found))
    crew.submit("unit:a", lambda: 1, note(found))
    crew.settle_all(LONG)
    assert (found, crew.is_at_rest, crew.is_idle) == ([1], True, False)
    go.set()
    while not crew.is_idle:
        crew.wait(LONG)
        crew.settle()
    assert found == [1, True]


def test_only_units_take_slots(crew: Crew) -> None:
    go = threading.Event()
    for name in ("feed:a", "query:a", "unit:a", "unit:b"):
        crew.submit(name, lambda: go.wait(LONG), lambda _: None)
    assert crew.free_slots == 0
    go.set()
    crew.settle_all(LONG)
    assert crew.free_slots == 2


def test_units_do_not_wait_for_deliveries_nor_for_reading(crew: Crew) -> None:
    go, found = threading.Event(), []
    for number in range(10):
        crew.submit(f"query:{number}", lambda: go.wait(LONG), lambda _: None)
        crew.submit(f"feed:{number}", lambda: go.wait(LONG), lambda _: None)
    crew.submit("unit:a", lambda: "ran", note(found))
    while not found:
        crew.wait(LONG)
        crew.settle()
    go.set()
    crew.settle_all(LONG)


def test_a_failure_comes_to_the_one_who_finishes(crew: Crew) -> None:
    found: list[BaseException | None] = []
    crew.submit("unit:a", lambda: 1 // 0, lambda future: found.append(future.exception()))
    crew.settle_all(LONG)
    assert isinstance(found[0], ZeroDivisionError)


def test_who_finishes_may_submit_again(crew: Crew) -> None:
    found: list[object] = []

    def again(future: Future[object]) -> None:
        found.append(future.result())
        if len(found) < 3:
            crew.submit("unit:a", lambda: len(found), again)

    crew.submit("unit:a", lambda: 0, again)
    crew.settle_all(LONG)
    assert found == [0, 1, 2]


@given(st.lists(st.sampled_from("abc"), max_size=20))
@settings(deadline=None, max_examples=examples(30))
def test_everything_is_done_once_and_each_one_in_its_own_order(names: list[str]) -> None:
    crew, found = Crew(slots=2), []
    waiting = [f"unit:{name}" for name in names]
    numbers = {name: iter(range(100)) for name in "abc"}
    given_ = [(name, next(numbers[name])) for name in names]
    todo = list(given_)
    while todo or not crew.is_idle:
        free = next((each for each in todo if not crew.is_busy(f"unit:{each[0]}")), None)
        if free is not None:
            todo.remove(free)
            crew.submit(f"unit:{free[0]}", lambda free=free: free, note(found))
        else:
            crew.wait(LONG)
        crew.settle()
    crew.dismiss()
    assert len(found) == len(waiting)
    for name in "abc":
        assert [each for each in found if each[0] == name] == [e for e in given_ if e[0] == name]


def test_a_call_ends_the_wait(crew: Crew) -> None:
    caller = threading.Timer(0.01, crew.wake)
    began = time.monotonic()
    caller.start()
    crew.wait(LONG)
    assert time.monotonic() - began < LONG / 2
    caller.join()


def test_a_call_before_the_wait_is_not_lost_and_holds_once(crew: Crew) -> None:
    crew.wake()
    began = time.monotonic()
    crew.wait(LONG)
    assert time.monotonic() - began < LONG / 2
    waited = threading.Thread(target=crew.wait, args=(LONG,))
    waited.start()
    waited.join(0.05)
    assert waited.is_alive()
    crew.wake()
    waited.join(LONG)
    assert not waited.is_alive()


def test_nothing_is_waited_for_while_something_is_done(crew: Crew) -> None:
    done = threading.Event()
    crew.submit("unit:a", done.set, lambda _: None)
    done.wait(LONG)
    while not crew._done:
        crew.wait(LONG)
    began = time.monotonic()
    crew.wait(LONG)
    assert time.monotonic() - began < LONG / 2
    crew.settle()


def test_everyone_goes_after_what_they_are_at() -> None:
    crew, found = Crew(slots=1), []
    go = threading.Event()
    crew.submit("unit:a", lambda: go.wait(LONG), note(found))
    crew.submit("unit:b", lambda: True, note(found))
    go.set()
    crew.dismiss()
    crew.settle()
    assert found == [True, True]
