import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.work.worker_pool import WorkerPool
from tests.examples import examples

LONG = 300.0  # seconds; nothing here may take half as long
KINDS = ("source", "unit", "query")


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    pool = WorkerPool(slots=2)
    yield pool
    pool.dismiss()


def note(found: list[object]) -> Callable[[Future[object]], None]:
    return lambda future: found.append(future.result())


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_done_is_finished_by_whoever_settles(pool: WorkerPool, kind: str) -> None:
    threads: list[threading.Thread] = []

    def finish(future: Future[object]) -> None:
        threads.extend([future.result(), threading.current_thread()])  # type: ignore[list-item]

    pool.submit(f"{kind}:a", threading.current_thread, finish)
    pool.settle_all(LONG)
    worker, settler = threads
    assert settler is threading.current_thread()
    assert worker is not settler


def test_one_is_busy_until_it_is_settled(pool: WorkerPool) -> None:
    go, found = threading.Event(), []
    pool.submit("unit:a", lambda: go.wait(LONG), note(found))
    assert pool.is_busy("unit:a")
    assert not pool.is_busy("unit:b")
    assert (pool.free_slots, pool.is_idle) == (1, False)
    pool.settle()
    assert pool.is_busy("unit:a")
    go.set()
    pool.wait(LONG)
    assert pool.is_busy("unit:a")
    assert not pool.is_idle
    pool.settle()
    assert (found, pool.is_idle, pool.free_slots) == ([True], True, 2)


def test_nobody_waits_for_a_sink(pool: WorkerPool) -> None:
    go, found = threading.Event(), []
    pool.submit("sink:query:a", lambda: go.wait(LONG), note(found))
    pool.submit("unit:a", lambda: 1, note(found))
    pool.settle_all(LONG)
    assert (found, pool.is_quiesced, pool.is_idle) == ([1], True, False)
    go.set()
    while not pool.is_idle:
        pool.wait(LONG)
        pool.settle()
    assert found == [1, True]


def test_only_units_take_slots(pool: WorkerPool) -> None:
    go = threading.Event()
    for name in ("source:a", "query:a", "unit:a", "unit:b"):
        pool.submit(name, lambda: go.wait(LONG), lambda _: None)
    assert pool.free_slots == 0
    go.set()
    pool.settle_all(LONG)
    assert pool.free_slots == 2


def test_units_do_not_wait_for_deliveries_nor_for_reading(pool: WorkerPool) -> None:
    go, found = threading.Event(), []
    for number in range(10):
        pool.submit(f"query:{number}", lambda: go.wait(LONG), lambda _: None)
        pool.submit(f"source:{number}", lambda: go.wait(LONG), lambda _: None)
    pool.submit("unit:a", lambda: "ran", note(found))
    while not found:
        pool.wait(LONG)
        pool.settle()
    go.set()
    pool.settle_all(LONG)


def test_a_failure_comes_to_the_one_who_finishes(pool: WorkerPool) -> None:
    found: list[BaseException | None] = []
    pool.submit("unit:a", lambda: 1 // 0, lambda future: found.append(future.exception()))
    pool.settle_all(LONG)
    assert isinstance(found[0], ZeroDivisionError)


def test_nobody_waits_for_what_is_not_finished_because_another_raised(pool: WorkerPool) -> None:
    ended = threading.Barrier(3)
    for name in ("unit:a", "unit:b"):
        pool.submit(name, lambda: ended.wait(LONG), lambda _: 1 // 0)
    ended.wait(LONG)
    while len(pool._done) < 2:
        pool.wait(LONG)
    with pytest.raises(ZeroDivisionError):
        pool.settle()
    pool.settle_all(LONG)
    assert pool.is_idle


def test_who_finishes_may_submit_again(pool: WorkerPool) -> None:
    found: list[object] = []

    def again(future: Future[object]) -> None:
        found.append(future.result())
        if len(found) < 3:
            pool.submit("unit:a", lambda: len(found), again)

    pool.submit("unit:a", lambda: 0, again)
    pool.settle_all(LONG)
    assert found == [0, 1, 2]


@given(st.lists(st.sampled_from("abc"), max_size=20))
@settings(deadline=None, max_examples=examples(30))
def test_everything_is_done_once_and_each_one_in_its_own_order(names: list[str]) -> None:
    pool, found = WorkerPool(slots=2), []
    waiting = [f"unit:{name}" for name in names]
    numbers = {name: iter(range(100)) for name in "abc"}
    given_ = [(name, next(numbers[name])) for name in names]
    todo = list(given_)
    while todo or not pool.is_idle:
        free = next((each for each in todo if not pool.is_busy(f"unit:{each[0]}")), None)
        if free is not None:
            todo.remove(free)
            pool.submit(f"unit:{free[0]}", lambda free=free: free, note(found))
        else:
            pool.wait(LONG)
        pool.settle()
    pool.dismiss()
    assert len(found) == len(waiting)
    for name in "abc":
        assert [each for each in found if each[0] == name] == [e for e in given_ if e[0] == name]


def test_a_call_ends_the_wait(pool: WorkerPool) -> None:
    caller = threading.Timer(0.01, pool.wake)
    began = time.monotonic()
    caller.start()
    pool.wait(LONG)
    assert time.monotonic() - began < LONG / 2
    caller.join()


def test_a_call_before_the_wait_is_not_lost_and_holds_once(pool: WorkerPool) -> None:
    pool.wake()
    began = time.monotonic()
    pool.wait(LONG)
    assert time.monotonic() - began < LONG / 2
    waited = threading.Thread(target=pool.wait, args=(LONG,))
    waited.start()
    waited.join(0.05)
    assert waited.is_alive()
    pool.wake()
    waited.join(LONG)
    assert not waited.is_alive()


def test_nothing_is_waited_for_while_something_is_done(pool: WorkerPool) -> None:
    done = threading.Event()
    pool.submit("unit:a", done.set, lambda _: None)
    done.wait(LONG)
    while not pool._done:
        pool.wait(LONG)
    began = time.monotonic()
    pool.wait(LONG)
    assert time.monotonic() - began < LONG / 2
    pool.settle()


def test_everyone_goes_after_what_they_are_at() -> None:
    pool, found = WorkerPool(slots=1), []
    go = threading.Event()
    pool.submit("unit:a", lambda: go.wait(LONG), note(found))
    pool.submit("unit:b", lambda: True, note(found))
    go.set()
    pool.dismiss()
    pool.settle()
    assert found == [True, True]


def test_what_was_started_up_to_a_number_has_ended_whatever_came_after_it(pool: WorkerPool) -> None:
    first, second = threading.Event(), threading.Event()
    pool.submit("unit:a", lambda: first.wait(LONG), lambda _: None)
    last = pool.started
    pool.submit("unit:b", lambda: second.wait(LONG), lambda _: None)
    assert not pool.has_ended(last)
    first.set()
    while pool.is_busy("unit:a"):
        pool.wait(LONG)
        pool.settle()
    assert pool.has_ended(last)
    assert not pool.has_ended(pool.started)
    second.set()
    pool.settle_all(LONG)
    assert pool.has_ended(pool.started)


def test_a_pool_grows_and_shrinks_while_it_is_at_work() -> None:
    pool, gate, ended = WorkerPool(slots=1), threading.Event(), list[str]()

    def work(name: str) -> Callable[[], None]:
        def wait() -> None:
            gate.wait(60)
            ended.append(name)

        return wait

    pool.submit("unit:a", work("a"), lambda _: None)
    assert pool.free_slots == 0
    pool.resize(3)
    assert pool.free_slots == 2
    for name in ("b", "c"):
        pool.submit(f"unit:{name}", work(name), lambda _: None)
    pool.resize(1)
    assert pool.free_slots == -2
    gate.set()
    pool.settle_all(0.1)
    assert sorted(ended) == ["a", "b", "c"]
    assert pool.free_slots == 1
    pool.dismiss()
