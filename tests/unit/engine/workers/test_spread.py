"""Events spread over workers by key are detected as in one place."""

import subprocess
import sys
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import cloudpickle

from penstock.engine.states.events.detection_run import keys_of
from penstock.engine.workers.spread import (
    answers_of,
    load_of,
    part_of,
    spreading,
    table_of_loads,
)
from penstock.events.detection.detector import Detector, KeptEvents
from penstock.events.detection.snapshot import split
from penstock.events.occurrences.event_input import ORDER
from penstock.model.events import And, Mode, Not, Plus, Primitive, Seq, Watch

A, B, C = (Primitive(name, name, ("k",)) for name in "abc")
SCHEMA = pa.schema(
    [("k", pa.string()), ("v", pa.int64())] + [(n, pa.int64()) for n in ("_start", "_end", ORDER)]
)
SCHEMAS = dict.fromkeys("abc", SCHEMA)
EVENTS = (Seq((A, B, C), 40), And((A, B), 40), Not(B, A, C, 40))
Row = tuple[str, str, int]  # the event, its key, its time
ROWS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("pqrst"), st.integers(0, 100)), max_size=40
)


def tables(rows: list[Row], first: int) -> dict[str, pa.Table]:
    found = {}
    for name in "abc":
        mine = [(n, row) for n, row in enumerate(rows, first) if row[0] == name]
        columns = {
            "k": [row[1] for _, row in mine],
            "v": [n for n, _ in mine],
            "_start": [row[2] for _, row in mine],
            "_end": [row[2] for _, row in mine],
            ORDER: [n for n, _ in mine],
        }
        found[name] = pa.table(columns, schema=SCHEMA)
    return found


def shares(given_: Mapping[str, pa.Table], count: int) -> list[dict[str, pa.Table]]:
    return [
        {n: t.filter(pa.array(part_of([t["k"]], count) == part)) for n, t in given_.items()}
        for part in range(count)
    ]


@given(ROWS, st.integers(1, 4), st.sampled_from(list(Mode)), st.integers(0, 40))
def test_parts_of_keys_together_give_what_one_detector_gives(
    rows: list[Row], count: int, mode: Mode, cut: int
) -> None:
    watches = {str(n): Watch(event, mode) for n, event in enumerate(EVENTS)}
    whole = Detector(watches, SCHEMAS)
    state: list[KeptEvents] = split(
        Detector(watches, SCHEMAS).kept(), count, lambda columns: part_of(columns, count)
    )
    for some, first, mark in ((rows[:cut], 0, 60), (rows[cut:], cut, 2**63 - 1)):
        occurrences = tables(some, first)
        expected = whole.step(occurrences, mark)
        loads = {
            n: load_of([state[n]], share) for n, share in enumerate(shares(occurrences, count))
        }
        work = spreading(watches, SCHEMAS, mark)
        batches = list(work(table_of_loads(loads).to_batches()))
        found, state = answers_of(pa.Table.from_batches(batches))
        for name in watches:
            assert found.detections[name].to_pylist() == expected.detections[name].to_pylist()
        late = {name: table.num_rows for name, table in expected.late.items()}
        assert {n: t.num_rows for n, t in found.late.items() if t.num_rows} == late


@given(st.lists(st.one_of(st.none(), st.text(), st.just("")), max_size=20), st.integers(1, 8))
def test_equal_keys_are_in_one_part_whatever_stands_beside_them(
    keys: list[str | None], count: int
) -> None:
    column = pa.chunked_array([pa.array(keys, pa.string())])
    parts = part_of([column], count)
    alone = [
        int(part_of([pa.chunked_array([pa.array([key], pa.string())])], count)[0]) for key in keys
    ]
    assert parts.tolist() == alone
    assert all(0 <= part < count for part in alone)


def test_keys_go_to_all_parts() -> None:
    numbers = pa.chunked_array([pa.array(np.arange(10_000))])
    sizes = np.bincount(part_of([numbers], 4), minlength=4)
    assert sizes.min() > 2_000
    assert set(part_of([numbers, numbers], 4).tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("event", "spreads"),
    [
        (Seq((A, B)), True),
        (Seq((Primitive("a"), Primitive("b"))), False),
        (Seq((Plus(A, 5), B)), False),
    ],
)
def test_only_keys_without_ticks_part_events(event: Seq, spreads: bool) -> None:
    assert bool(keys_of([Watch(event)])) == spreads


def test_an_event_with_two_sets_of_keys_is_not_spread() -> None:
    other = Primitive("a", "a", ("v",)), Primitive("c", "c", ("v",))
    assert not keys_of([Watch(Seq((A, B))), Watch(Seq(other))])


def test_the_work_goes_by_value_with_all_that_it_needs() -> None:
    work = spreading({"x": Watch(Seq((A, B, C), 40))}, SCHEMAS, 100)
    rows = [("a", "p", 1), ("b", "p", 2), ("c", "p", 3)]
    load = load_of([], tables(rows, 0))
    sent = cloudpickle.dumps((work, table_of_loads({0: load})))  # type: ignore[no-untyped-call]
    child = (
        "import pickle, sys\n"
        "sys.modules['penstock'] = None\n"
        "work, loads = pickle.load(sys.stdin.buffer)\n"
        "(batch,) = work(loads.to_batches())\n"
        "found, late, state = pickle.loads(batch['load'][0].as_py())\n"
        "print(found['x'].num_rows)"
    )
    command = [sys.executable, "-c", child]
    done = subprocess.run(command, input=sent, capture_output=True, check=False)
    assert done.stdout.decode().strip() == "1", done.stderr.decode()
