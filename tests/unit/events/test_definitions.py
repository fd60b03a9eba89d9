"""Every operator in every mode against its definition, over histories with ties and duplicates."""

from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.events import Event, Mode, Watch
from tests.unit.events.histories import MODES, at_once, events, histories, labelled, of_kind
from tests.unit.events.oracle import Row, detections

KINDS = ("or", "and", "seq", "any", "not", "a", "a*", "p", "p*", "plus")


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_an_operator_gives_what_its_definition_says(
    kind: str, mode: Mode, data: st.DataObject
) -> None:
    event = labelled(data.draw(of_kind(kind, 1, ())), count())
    rows = data.draw(histories())
    watch = Watch(event, mode, point=data.draw(st.booleans()))
    assert at_once({"it": watch}, rows)["it"] == detections(watch, rows)


@given(events(3), MODES, st.booleans(), histories())
@settings(max_examples=200, deadline=None)
def test_so_do_events_over_events(event: Event, mode: Mode, point: bool, rows: list[Row]) -> None:
    watch = Watch(event, mode, point)
    assert at_once({"it": watch}, rows)["it"] == detections(watch, rows)


@given(events(2, key=("room",)), MODES, histories(12, keys=True))
@settings(max_examples=100, deadline=None)
def test_a_key_is_detected_by_itself(event: Event, mode: Mode, rows: list[Row]) -> None:
    watch = Watch(event, mode)
    assert at_once({"it": watch}, rows)["it"] == detections(watch, rows)


@given(events(2), MODES, st.integers(1, 3), histories())
@settings(max_examples=150, deadline=None)
def test_a_cap_leaves_the_newest(event: Event, mode: Mode, cap: int, rows: list[Row]) -> None:
    watch = replace(Watch(event, mode), cap=cap)
    if "all_at_last=True" not in repr(event):
        assert at_once({"it": watch}, rows)["it"] == detections(watch, rows)
