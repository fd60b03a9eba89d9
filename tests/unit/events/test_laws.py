"""What must not matter: how input is cut and shuffled, restarts, who else is watched."""

from collections.abc import Mapping
from zlib import crc32

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.events.detection.detector import END_OF_TIME, Detector
from penstock.events.detection.snapshot import split
from penstock.events.occurrences.batch import Ints
from penstock.model.events import Event, Mode, Or, Primitive, Watch
from tests.examples import examples
from tests.unit.events.histories import (
    MODES,
    NAMES,
    at_once,
    detector,
    events,
    histories,
    known,
    read,
    tables,
)
from tests.unit.events.oracle import Detection, Row

Cut = tuple[list[Row], int]
CAPS = st.none() | st.integers(1, 3)


@st.composite
def cuts(draw: st.DrawFn, rows: list[Row]) -> list[Cut]:
    """Draw an order of arrival, steps, and a watermark after each that no later row is behind."""
    left = list(draw(st.permutations(rows)))
    steps: list[Cut] = []
    while left:
        size = draw(st.integers(0, len(left)))
        some, left = left[:size], left[size:]
        least = min((row.end for row in left), default=13)
        steps.append((some, draw(st.integers(-1, least))))
    return [*steps, ([], END_OF_TIME)]


@st.composite
def cut_histories(draw: st.DrawFn, keys: bool = False) -> tuple[list[Row], list[Cut]]:
    rows = draw(histories(10, keys))
    return rows, draw(cuts(rows))


def went_through(one: Detector, watches: Mapping[str, Watch], steps: list[Cut]) -> list[Detection]:
    found: list[Detection] = []
    for rows, mark in steps:
        answer = one.step(known(tables(rows), watches), mark)
        assert not answer.late
        found += read(answer.detections["it"])
    return found


@given(events(3), MODES, st.booleans(), CAPS, cut_histories())
@settings(max_examples=examples(150), deadline=None)
def test_any_cut_and_any_order_of_arrival_gives_the_same_detections(
    event: Event, mode: Mode, point: bool, cap: int | None, history: tuple[list[Row], list[Cut]]
) -> None:
    watches = {"it": Watch(event, mode, point, cap)}
    rows, steps = history
    found = went_through(detector(watches), watches, in_time(steps, watches))
    assert found == at_once(watches, rows)["it"]


def in_time(steps: list[Cut], watches: Mapping[str, Watch]) -> list[Cut]:
    """Return steps whose watermarks are not beyond what is watched: periodic events would go on."""
    names = set(known(tables([]), watches))
    latest = max(
        (row.end for rows, _ in steps for row in rows if row.primitive in names), default=-2
    )
    return [(rows, mark if mark == END_OF_TIME else min(mark, latest + 1)) for rows, mark in steps]


@given(events(3, key=("room",)), MODES, CAPS, cut_histories(keys=True), st.data())
@settings(max_examples=examples(80), deadline=None)
def test_a_restart_changes_nothing_even_when_keys_move(
    event: Event,
    mode: Mode,
    cap: int | None,
    history: tuple[list[Row], list[Cut]],
    data: st.DataObject,
) -> None:
    watches = {"it": Watch(event, mode, cap=cap)}
    rows, steps = history
    one = detector(watches)
    found: list[Detection] = []
    for step in in_time(steps, watches):
        kept = one.kept()
        parts = split(kept, 3, by_hash) if data.draw(st.booleans()) else [kept]
        one = detector(watches, *parts)
        found += went_through(one, watches, [step])
    assert found == at_once(watches, rows)["it"]


def by_hash(columns: list[pa.ChunkedArray]) -> Ints:
    return np.array([crc32(str(value).encode()) % 3 for value in columns[0].to_pylist()], np.int64)


@given(st.lists(st.tuples(events(2), MODES, CAPS), min_size=2, max_size=4), cut_histories())
@settings(max_examples=examples(60), deadline=None)
def test_watches_do_not_disturb_each_other(
    asked: list[tuple[Event, Mode, int | None]], history: tuple[list[Row], list[Cut]]
) -> None:
    # A periodic event ticks on to the last row that its detector knows of; let all know of all.
    time = {"time": Watch(Or(tuple(Primitive(name, lasts=name == "long") for name in NAMES)))}
    watches = {str(at): Watch(event, mode, cap=cap) for at, (event, mode, cap) in enumerate(asked)}
    rows, steps = history
    one = detector(watches | time)
    found: dict[str, list[Detection]] = {name: [] for name in watches | time}
    for some, mark in in_time(steps, watches | time):
        for name, table in one.step(tables(some), mark).detections.items():
            found[name] += read(table)
    for name, watch in watches.items():
        assert found[name] == at_once({name: watch} | time, rows)[name]
