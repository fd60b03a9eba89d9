"""Watermarks over several inputs of which some are idle."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.schema import Schema
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import EventTime, Operator, Union, key
from penstock.plan.sharing.units import Unit, _together
from tests.unit.model.hall import SCHEMA, scan

LEAVES = tuple(scan(name) for name in "stu")
UNION = Unit(Union(LEAVES, SCHEMA, (EventTime("ts"),)), LEAVES)
MARKS = st.sampled_from([BEGIN_OF_TIME, END_OF_TIME]) | st.integers(0, 100)


def marks_of(*marks: int) -> dict[str, int]:
    return dict(zip(UNION.inputs, marks, strict=True))


def idle(*names: str) -> set[str]:
    return {key(scan(name)) for name in names}


def test_an_idle_input_has_no_say_while_another_goes_on() -> None:
    marks = marks_of(10, 20, 30)
    assert UNION.watermark(marks) == 10
    assert UNION.watermark(marks, idle("s")) == 20
    assert UNION.watermark(marks, idle("s", "t")) == 30


def test_when_all_are_idle_time_stands_at_the_furthest() -> None:
    marks = marks_of(10, 20, 30)
    assert UNION.watermark(marks, idle("s", "t", "u")) == 30
    assert UNION.is_idle(marks, idle("s", "t", "u"))
    assert not UNION.is_idle(marks, idle("s", "t"))


def test_an_input_that_has_ended_does_not_end_one_that_may_wake_up() -> None:
    marks = marks_of(10, END_OF_TIME, END_OF_TIME)
    assert UNION.watermark(marks, idle("s")) == 10
    assert UNION.is_idle(marks, idle("s"))
    ended = marks_of(*[END_OF_TIME] * 3)
    assert UNION.watermark(ended) == END_OF_TIME
    assert not UNION.is_idle(ended, set())


@dataclass(frozen=True, slots=True)
class Pair:
    """An operator that keeps something of each of its inputs, as a join does."""

    inputs: tuple[Operator, ...]
    schema: Schema = SCHEMA
    times: tuple[EventTime, ...] = ()

    def text(self) -> str:
        return "pair"

    def sql(self, inputs: Sequence[str]) -> str:
        return f"SELECT * FROM {inputs[0]}"


PAIR = Pair((LEAVES[0], UNION.root))
JOIN = Unit(PAIR, LEAVES, PAIR)


@pytest.mark.parametrize(
    ("resting", "expected"),
    [
        ("", (10, 10)),
        ("s", (20, 20)),  # the first goes along with the second, which still waits for t
        ("st", (30, 30)),
        ("t", (10, 10)),
        ("stu", (30, 30)),
    ],
)
def test_an_idle_side_goes_along_with_the_other(resting: str, expected: tuple[int, ...]) -> None:
    assert JOIN.marks(marks_of(10, 20, 30), idle(*resting)) == expected


def test_an_idle_side_does_not_end_with_the_other() -> None:
    join = Unit(Pair(LEAVES[:2]), LEAVES[:2], Pair(LEAVES[:2]))
    marks = dict(zip(join.inputs, (10, END_OF_TIME), strict=True))
    assert join.marks(marks, idle("s")) == (10, END_OF_TIME)


@given(st.lists(st.tuples(MARKS, st.booleans()), min_size=1, max_size=4))
def test_idle_inputs_only_ever_move_a_watermark_on(pairs: list[tuple[int, bool]]) -> None:
    mark, rests = _together(pairs)
    assert mark >= min(each for each, _ in pairs)
    awake = [each for each, idle_ in pairs if not idle_ and each != END_OF_TIME]
    assert rests == (not awake and any(idle_ for _, idle_ in pairs))
    if awake:
        assert mark == min(awake)


@given(st.lists(st.integers(0, 100), min_size=2, max_size=4), st.randoms())
def test_the_order_in_which_inputs_fall_idle_makes_no_difference(
    marks: list[int], random: Random
) -> None:
    falling = random.sample(range(len(marks)), len(marks))
    reached = min(marks)
    for count in range(len(marks) + 1):
        resting = set(falling[:count])
        reached = max(reached, _together([(m, i in resting) for i, m in enumerate(marks)])[0])
    assert reached == max(marks)


@pytest.mark.parametrize("rests", [True, False])
def test_one_input_is_what_it_is(rests: bool) -> None:
    assert _together([(7, rests)]) == (7, rests)
