"""Every operator in every mode against its definition, over histories with ties and duplicates."""

from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.events import (
    CONSUMING,
    And,
    Aperiodic,
    Event,
    Mode,
    Not,
    Periodic,
    Primitive,
    Seq,
    Watch,
)
from tests.examples import examples
from tests.unit.events.histories import MODES, at_once, events, histories, labelled, of_kind
from tests.unit.events.oracle import Row, detections

KINDS = ("or", "and", "seq", "any", "not", "a", "a*", "p", "p*", "plus")


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=examples(25), deadline=None)
def test_an_operator_gives_what_its_definition_says(
    kind: str, mode: Mode, data: st.DataObject
) -> None:
    event = labelled(data.draw(of_kind(kind, 1, ())), count())
    rows = data.draw(histories())
    watch = Watch(event, mode, point=data.draw(st.booleans()))
    assert at_once({"it": watch}, rows)["it"] == detections(watch, rows)


@given(events(3), MODES, st.booleans(), histories())
@settings(max_examples=examples(200), deadline=None)
def test_so_do_events_over_events(event: Event, mode: Mode, point: bool, rows: list[Row]) -> None:
    watch = Watch(event, mode, point)
    assert at_once({"it": watch}, rows)["it"] == detections(watch, rows)


@given(events(2, key=("room",)), MODES, histories(12, keys=True))
@settings(max_examples=examples(100), deadline=None)
def test_a_key_is_detected_by_itself(event: Event, mode: Mode, rows: list[Row]) -> None:
    watch = Watch(event, mode)
    assert at_once({"it": watch}, rows)["it"] == detections(watch, rows)


@given(events(2), MODES, st.integers(1, 3), histories())
@settings(max_examples=examples(150), deadline=None)
def test_a_cap_leaves_the_newest(event: Event, mode: Mode, cap: int, rows: list[Row]) -> None:
    watch = replace(Watch(event, mode), cap=cap)
    if "all_at_last=True" not in repr(event):
        assert at_once({"it": watch}, rows)["it"] == detections(watch, rows)


E, AGAIN, C = Primitive("a", "e"), Primitive("a", "again"), Primitive("c", "c")
IN_TWO_PLACES = (
    Seq((E, AGAIN)),
    Seq((E, AGAIN), 5),
    Not(C, E, AGAIN),
    And((E, AGAIN)),
    And((E, C, AGAIN)),
    Aperiodic(E, C, AGAIN, all_at_last=True),
    Aperiodic(E, AGAIN, C, all_at_last=True),
    Periodic(E, 1, AGAIN, all_at_last=True, label="tick"),
)


@pytest.mark.parametrize("mode", sorted(CONSUMING))
@pytest.mark.parametrize("event", IN_TWO_PLACES, ids=str)
@given(rows=histories(12))
@settings(max_examples=examples(25), deadline=None)
def test_a_row_takes_part_at_one_time_only(event: Event, mode: Mode, rows: list[Row]) -> None:
    """Whatever the place in the expression; one row may complete several in continuous mode."""
    times: dict[tuple[str, int], set[int]] = {}
    for _, end, of in at_once({"it": Watch(event, mode)}, rows)["it"]:
        for label, numbers in of.items():
            for number in numbers if label != "tick" else ():
                times.setdefault(("c" if label == "c" else "a", number), set()).add(end)
    assert all(len(ends) == 1 for ends in times.values())


@pytest.mark.parametrize("mode", sorted(CONSUMING))
@given(rows=histories(12))
@settings(max_examples=examples(25), deadline=None)
def test_so_does_a_row_that_two_masks_let_through(mode: Mode, rows: list[Row]) -> None:
    watch = Watch(Seq((Primitive("a", "a"), Primitive("b", "b"))), mode)
    ends: dict[int, set[int]] = {}
    for _, end, of in at_once({"it": watch}, rows)["it"]:
        for number in (*of["a"], *of["b"]):
            ends.setdefault(number, set()).add(end)
    assert all(len(each) == 1 for each in ends.values())
