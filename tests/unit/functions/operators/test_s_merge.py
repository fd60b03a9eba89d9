import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadOptionError, TypeMismatchError
from penstock.functions import Runner, StreamType, central, s_merge
from penstock.functions.operators.operator import InputItems
from penstock.functions.operators.s_merge import SMerge
from tests.unit.functions.arrivals import History, MergeByHand, Part, histories, shown, stepped
from tests.unit.functions.worlds import READING, SIGNAL, readings

timeouts = st.sampled_from([None, 0.0, 1.0, 2.5])


def merge(history: History, timeout: float | None) -> SMerge:
    return SMerge(READING, len(history.inputs), timeout)


@given(histories(lossy=True, split=False), timeouts)
def test_it_does_what_a_merge_by_hand_does(history: History, timeout: float | None) -> None:
    steps = stepped(merge(history, timeout), history)
    gone, late = MergeByHand(history, timeout).run()
    assert [shown(step.items) for step in steps] == gone
    withheld = [each for step in steps for aside in step.withheld for each in shown(aside.items)]
    assert sorted(withheld) == sorted(late)


@given(histories(lossy=False, split=False), timeouts)
def test_what_comes_out_is_in_order_and_nothing_is_lost(
    history: History, timeout: float | None
) -> None:
    steps = stepped(merge(history, timeout), history)
    out = [each for step in steps for each in shown(step.items)]
    assert [time for time, _ in out] == sorted(time for time, _ in out)
    late = [each for step in steps for aside in step.withheld for each in shown(aside.items)]
    waiting = steps[-1].state.tables["waiting"].num_rows
    assert len(out) + len(late) + waiting == sum(map(len, history.inputs))
    if history.ended:
        assert not waiting


@given(histories(lossy=False, split=False), st.sampled_from([1.0, 2.5]))
def test_who_comes_sooner_than_the_timeout_after_all_newer_ones_is_never_late(
    history: History, timeout: float
) -> None:
    steps = stepped(merge(history, timeout), history)
    came = [(part.time, history.moments[part.step]) for parts in history.inputs for part in parts]
    for step, now in zip(steps, history.moments, strict=True):
        for aside in step.withheld:
            for time, _ in shown(aside.items):
                assert any(newer > time and at + timeout <= now for newer, at in came)


@given(histories(lossy=True, split=False), timeouts)
def test_nothing_older_than_its_progress_comes_out_later(
    history: History, timeout: float | None
) -> None:
    steps = stepped(merge(history, timeout), history)
    for place, step in enumerate(steps):
        for later in steps[place + 1 :]:
            assert all(time >= step.progress for time, _ in shown(later.items))


def test_a_silent_input_delays_and_does_not_throttle() -> None:
    loud = tuple(Part(time, time, time) for time in range(100))
    history = History((loud, ()), tuple(0.1 * n for n in range(100)), (False, False), ended=False)
    steps = stepped(SMerge(READING, 2, 1.0), history)
    gone = [sum(len(each.items) for each in steps[: now + 1]) for now in range(100)]
    assert gone[9:12] == [0, 1, 2]
    assert gone[-1] == 90


def test_an_ended_input_is_not_waited_for() -> None:
    history = History(((Part(1, 0, 0),), ()), (0.0,), (False, False), ended=True)
    (step,) = stepped(SMerge(READING, 2, None), history)
    assert shown(step.items) == [(1, 0)]


def test_it_says_when_it_wants_to_be_asked_again() -> None:
    operator = SMerge(READING, 2, 2.0)
    items, none = readings([4, 5]), readings([])
    step = operator.step(operator.fresh(), [InputItems(items), InputItems(none)], 10.0)
    assert (len(step.items), step.wake) == (0, 12.0)
    step = operator.step(step.state, [InputItems(none), InputItems(none)], 12.0)
    assert (len(step.items), step.wake) == (2, None)


def test_a_negative_timeout_is_refused() -> None:
    with pytest.raises(BadOptionError):
        Runner(central(s_merge(timeout=-1.0), 2), (READING, READING))


def test_inputs_of_different_types_are_refused() -> None:
    with pytest.raises(TypeMismatchError):
        Runner(central(s_merge, 2), (READING, SIGNAL))


def test_types_of_the_same_columns_under_different_names_are_merged() -> None:
    other = StreamType("other", READING.columns, READING.ordering)
    assert Runner(central(s_merge, 2), (READING, other)).result_types == (READING,)
