from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadFlowError
from penstock.functions import Items, Runner, central, fft3, os_join, pcc, rr_part, stream_function
from penstock.functions.operators.os_join import OSJoin
from tests.unit.functions.arrivals import History, JoinByHand, Part, histories, shown, stepped
from tests.unit.functions.worlds import READING

timeouts = st.sampled_from([None, 0.0, 1.0, 2.5])


@stream_function(over="items", role="combine")
def total(parts: Sequence[Items | None]) -> dict[str, object]:
    here = [each for each in parts if each is not None]
    return {"value": [float(len(here))] * len(here[0])}


@stream_function(over="items", role="combine")
def broken(parts: Sequence[Items]) -> dict[str, object]:
    if (parts[0].times == 2).any():
        raise ValueError("no two")
    return {"value": parts[0]["value"]}


def join(history: History, timeout: float | None, *, split: bool, partial: bool = False) -> OSJoin:
    call = total()
    return OSJoin(
        READING, READING, len(history.inputs), split, call, timeout, call if partial else None
    )


@given(histories(lossy=True, split=True), timeouts)
def test_parts_of_one_stream_join_as_they_do_by_hand(
    history: History, timeout: float | None
) -> None:
    steps = stepped(join(history, timeout, split=True), history)
    whole, missed, late = JoinByHand(history, timeout, split=True).run()
    assert [shown(step.items) for step in steps] == [[key[:2] for key in each] for each in whole]
    aside = [each for step in steps for each in step.withheld]
    given_up = {each for a in aside if a.kind == "missed" for each in shown(a.items)}
    assert given_up == {key[:2] for key in missed}
    assert sum(len(a.items) for a in aside if a.kind == "late") == late


@given(histories(lossy=True, split=False), timeouts)
def test_streams_of_their_own_join_on_time_alone(history: History, timeout: float | None) -> None:
    steps = stepped(join(history, timeout, split=False), history)
    whole, _, late = JoinByHand(history, timeout, split=False).run()
    times = [step.items.times.tolist() for step in steps]
    assert times == [[key[0] for key in each] for each in whole]
    found = [each for step in steps for each in step.withheld if each.kind == "late"]
    assert sum(len(each.items) for each in found) == late


@given(histories(lossy=True, split=True), timeouts)
def test_with_a_partial_function_every_decided_item_comes_out_in_the_order_of_time(
    history: History, timeout: float | None
) -> None:
    steps = stepped(join(history, timeout, split=True, partial=True), history)
    whole, missed, _ = JoinByHand(history, timeout, split=True).run()
    out = [each for step in steps for each in shown(step.items)]
    counts = [int(value) for step in steps for value in step.items["value"]]
    expected = {key[:2]: len(history.inputs) for each in whole for key in each}
    expected |= {key[:2]: parts for key, parts in missed.items()}
    assert [time for time, _ in out] == sorted(time for time, _ in out)
    assert sorted(zip(out, counts, strict=True)) == sorted(expected.items())


@given(histories(lossy=False, split=True))
def test_if_nothing_is_lost_nothing_is_missed(history: History) -> None:
    steps = stepped(join(history, None, split=True), history)
    assert not [each for step in steps for each in step.withheld]
    if history.ended:
        out = [each for step in steps for each in shown(step.items)]
        assert out == [(part.time, part.number) for part in history.inputs[0]]


@given(histories(lossy=True, split=True), timeouts)
def test_nothing_older_than_its_progress_comes_out_later(
    history: History, timeout: float | None
) -> None:
    steps = stepped(join(history, timeout, split=True), history)
    for place, step in enumerate(steps):
        for later in steps[place + 1 :]:
            assert all(time >= step.progress for time, _ in shown(later.items))


def test_a_lost_branch_is_waited_for_only_until_it_is_past() -> None:
    both = (Part(1, 0, 0), Part(2, 1, 0), Part(3, 2, 0))
    history = History((both, (both[0], both[2])), (0.0,), (False, False), ended=False)
    (step,) = stepped(join(history, None, split=True), history)
    assert shown(step.items) == [(1, 0), (3, 2)]
    (missed,) = step.withheld
    assert (missed.kind, missed.cause) == ("missed", "no part came from input 1")


def test_what_was_given_up_stays_so_while_others_of_its_time_are_decided() -> None:
    first = (Part(1, 0, 0), Part(1, 1, 2))
    second = (Part(1, 1, 2), Part(1, 0, 3))
    history = History((first, second), (0.0, 1.0, 2.0, 3.0), (False, False), ended=False)
    steps = stepped(join(history, 1.0, split=True), history)
    assert [shown(step.items) for step in steps] == [[], [], [(1, 1)], []]
    kinds = [[(each.kind, shown(each.items)) for each in step.withheld] for step in steps]
    assert kinds == [[], [("missed", [(1, 0)])], [], [("late", [(1, 0)])]]


def test_a_combination_that_fails_is_held_with_all_its_parts() -> None:
    both = (Part(1, 0, 0), Part(2, 1, 0), Part(3, 2, 0))
    history = History((both, both), (0.0,), (False, False), ended=True)
    (step,) = stepped(OSJoin(READING, READING, 2, True, broken()), history)
    assert shown(step.items) == [(1, 0), (3, 2)]
    (held,) = step.withheld
    assert (held.kind, held.function, shown(held.items)) == ("held", "broken", [(2, 1), (2, 1)])
    assert held.cause == "FUNCTION_FAILED: broken: ValueError: no two"


def test_what_is_no_combination_is_refused() -> None:
    with pytest.raises(BadFlowError, match="os_join cannot combine by fft3"):
        Runner(central(os_join(fft3), 2), (READING, READING))


def test_too_many_inputs_are_refused() -> None:
    with pytest.raises(BadFlowError, match="can have 62"):
        Runner(pcc(63, rr_part, broken_free(), os_join(total)), (READING,))


def broken_free() -> object:
    @stream_function(over="items")
    def unchanged(items: Items) -> Items:
        return items

    return unchanged
