"""A composite event that is fed to another as rows means what it means inside its expression."""

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.events.detection.detector import END, END_OF_TIME, ORDER, START, Detector
from penstock.model.events import Aperiodic, Event, Mode, Not, Primitive, Seq, Watch
from tests.examples import examples
from tests.unit.events.histories import (
    MODES,
    SCHEMA,
    SCHEMAS,
    at_once,
    detector,
    events,
    histories,
    known,
    read,
    tables,
)
from tests.unit.events.oracle import Row

A, B = Primitive("a", "one"), Primitive("b", "two")
FED = Primitive("fed", "fed", lasts=True)
AROUND: dict[str, Callable[[Event], Event]] = {
    "first": lambda inner: Seq((inner, A)),
    "last": lambda inner: Seq((A, inner)),
    "middle": lambda inner: Seq((A, inner, B)),
    "not between": lambda inner: Not(inner, A, B),
    "not at the end": lambda inner: Not(B, A, inner),
    "gathered": lambda inner: Aperiodic(A, inner, B, all_at_last=True),
    "opening": lambda inner: Aperiodic(inner, A, B),
    "closing": lambda inner: Aperiodic(A, B, inner),
}


@given(events(2), st.sampled_from(sorted(AROUND)), MODES, st.booleans(), histories())
@settings(max_examples=examples(200), deadline=None)
def test_fed_as_rows_is_the_same_as_inside(
    inner: Event, place: str, mode: Mode, point: bool, rows: list[Row]
) -> None:
    assume("Periodic" not in repr(inner))  # its ticks end with the last row that is known
    watch = {"it": Watch(inner, mode, point)}
    found = detector(watch).step(known(tables(rows), watch), END_OF_TIME).detections["it"]
    as_rows = pa.table(
        [
            found[START],
            found[END],
            found[ORDER],
            pa.nulls(found.num_rows, pa.string()),
            pa.array(range(found.num_rows)),
        ],
        schema=SCHEMA,
    )
    outer = Watch(AROUND[place](FED), mode, point)
    one = Detector({"it": outer}, {**SCHEMAS, "fed": SCHEMA})
    given_rows = {
        **known(
            tables(rows),
            {"it": Watch(Seq((A, B)))},
        ),
        "fed": as_rows,
    }
    answer = read(one.step(given_rows, END_OF_TIME).detections["it"])
    constituents = [of for _, _, of in read(found)]
    opened = []
    for start, end, of in answer:
        whole = {label: list(numbers) for label, numbers in of.items() if label != "fed"}
        for number in of.get("fed", []):
            for label, numbers in constituents[number].items():
                whole[label] = whole.get(label, []) + numbers
        opened.append((start, end, whole))
    nested = {"it": replace(outer, event=AROUND[place](inner))}
    assert opened == at_once(nested, rows)["it"]
