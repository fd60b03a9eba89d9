"""The detector as others meet it: sharing, bounds, lateness, keys, what is kept and counted."""

import json
import random
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from penstock.errors import BadEventError
from penstock.events.detection import detector_state
from penstock.events.detection.detector import END, END_OF_TIME, ORDER, Detector
from penstock.model.event_forms import event_text, unbounded
from penstock.model.events import (
    And,
    AnyOf,
    Aperiodic,
    Event,
    Mode,
    Not,
    Or,
    Periodic,
    Plus,
    Primitive,
    Seq,
    Watch,
)

A, B, C = (Primitive(name, name) for name in "abc")


def rows(*some: tuple[int, Any], kind: pa.DataType | None = None) -> pa.Table:
    """Return occurrences with times and values, in sequence."""
    return pa.table(
        {
            END: pa.array([time for time, _ in some], pa.int64()),
            ORDER: pa.array(range(len(some)), pa.int64()),
            "v": pa.array([value for _, value in some], kind or pa.string()),
        }
    )


def watching(**watches: Watch) -> Detector:
    return Detector(watches, dict.fromkeys("abc", rows().schema))


def keyed(event: Primitive, *columns: str) -> Primitive:
    return replace(event, key=columns)


def test_equal_parts_are_one_node_and_modes_share_what_has_none() -> None:
    either = Or((A, B))
    one = watching(
        x=Watch(Seq((either, C)), Mode.RECENT),
        y=Watch(Seq((Or((Primitive("a", "p"), Primitive("b", "q"))), C)), Mode.CHRONICLE),
        z=Watch(And((Seq((either, Primitive("c", "other"))), B)), Mode.RECENT),
    )
    nodes = {node.name: node.watches for node in one.graph()}
    assert nodes == {
        "a": ("x", "y", "z"),
        "b": ("x", "y", "z"),
        "(a OR b)": ("x", "y", "z"),
        "c": ("x", "y", "z"),
        "((a OR b) SEQ c) recent": ("x", "z"),
        "((a OR b) SEQ c) chronicle": ("y",),
        "ANY(2, ((a OR b) SEQ c), b) recent": ("z",),
    }


def test_labels_are_a_watches_own_and_what_has_none_is_left_out() -> None:
    one = watching(x=Watch(Seq((A, B))), y=Watch(Seq((Primitive("a", "first"), Primitive("b")))))
    found = one.step({"a": rows((1, "p")), "b": rows((2, "q"))}, 3).detections
    assert found["x"].drop_columns(ORDER).to_pylist() == [
        {"_start": 1, "_end": 2, "a.v": "p", "b.v": "q"}
    ]
    assert found["y"].drop_columns(ORDER).to_pylist() == [{"_start": 1, "_end": 2, "first.v": "p"}]


def test_columns_have_their_types_when_nothing_is_found() -> None:
    one = watching(x=Watch(Seq((A, B)), Mode.CUMULATIVE), y=Watch(AnyOf(2, (A, B, C))))
    found = one.step({}, 0).detections
    assert found["x"].schema.field("a.v").type == pa.list_(pa.string())
    assert found["x"].schema.field("b.v").type == pa.string()
    some = one.step({"a": rows((1, "p")), "c": rows((2, "q"))}, 3).detections
    assert some["y"].schema == found["y"].schema
    assert some["y"]["b.v"].to_pylist() == [None]


def test_what_is_behind_the_watermark_is_late_and_what_is_at_it_waits() -> None:
    one = watching(x=Watch(Seq((A, B))))
    assert not one.step({"a": rows((5, "p"))}, 5).late
    late = one.step({"a": rows((4, "q"), (6, "r")), "b": rows((6, "s"), (7, "t"))}, 7)
    assert late.late["a"]["v"].to_pylist() == ["q"]
    assert [row["a.v"] for row in late.detections["x"].to_pylist()] == ["p"]
    rest = one.step({}, END_OF_TIME).detections["x"].to_pylist()
    assert [(row["a.v"], row["b.v"]) for row in rest] == [("r", "t")]


def test_a_watermark_never_goes_back() -> None:
    one = watching(x=Watch(Seq((A, B))))
    one.step({}, 10)
    assert one.step({"a": rows((7, "p"))}, 5).late["a"].num_rows == 1


def test_a_step_that_raises_has_changed_nothing() -> None:
    one = watching(x=Watch(Seq((A, B))))
    one.step({"a": rows((1, "p"))}, 2)
    with pytest.raises(KeyError):
        one.step({"a": rows((3, "q")), "b": rows((3, "q")).drop_columns(ORDER)}, 4)
    found = one.step({"b": rows((5, "r"))}, 9).detections["x"].to_pylist()
    assert [row["a.v"] for row in found] == ["p"]


def test_keys_of_several_columns_agree_as_a_whole_and_null_with_nothing() -> None:
    schema = pa.schema(
        [(END, pa.int64()), (ORDER, pa.int64()), ("x", pa.int32()), ("y", pa.string())]
    )
    other = pa.schema(
        [(END, pa.int64()), (ORDER, pa.int64()), ("p", pa.int32()), ("q", pa.string())]
    )
    event = Seq((keyed(A, "x", "y"), keyed(B, "p", "q")))
    one = Detector({"it": Watch(event, Mode.UNRESTRICTED)}, {"a": schema, "b": other})
    keys = [(1, "u"), (1, "v"), (None, "u"), (2, None), (2, "u")]
    first = pa.table([[1] * 5, range(5), *zip(*keys, strict=True)], schema=schema)
    last = pa.table([[2] * 5, range(5), *zip(*reversed(keys), strict=True)], schema=other)
    found = one.step({"a": first, "b": last}, 9).detections["it"].to_pylist()
    assert sorted((row["a.x"], row["a.y"]) for row in found) == [(1, "u"), (1, "v"), (2, "u")]
    assert all((row["a.x"], row["a.y"]) == (row["b.p"], row["b.q"]) for row in found)


def test_nan_agrees_with_nan_as_in_spark() -> None:
    table = rows((1, float("nan")), (2, float("nan")), kind=pa.float64())
    event = Seq((keyed(A, "v"), keyed(A, "v")))
    one = Detector({"it": Watch(event)}, {"a": table.schema})
    one.step({"a": table.slice(0, 1)}, 2)
    assert one.step({"a": table.slice(1)}, 3).detections["it"].num_rows == 1


def test_keys_of_other_types_are_refused() -> None:
    schemas = {"a": rows().schema, "b": rows(kind=pa.int64()).schema}
    with pytest.raises(BadEventError):
        Detector({"it": Watch(Seq((keyed(A, "v"), keyed(B, "v"))))}, schemas)


@pytest.mark.parametrize(
    ("event", "mode", "dropped"),
    [
        (Seq((A, B)), Mode.UNRESTRICTED, 7),
        (Seq((A, B)), Mode.CHRONICLE, 7),
        (Seq((A, B)), Mode.CONTINUOUS, 7),
        (And((A, B)), Mode.CHRONICLE, 7),
        (Aperiodic(A, B, C), Mode.CONTINUOUS, 7),
        (Periodic(A, 5, C), Mode.CHRONICLE, 7),
        (Seq((A, B)), Mode.RECENT, 0),
    ],
)
def test_what_a_cap_has_cost_is_counted(event: Event, mode: Mode, dropped: int) -> None:
    one = Detector({"it": Watch(event, mode, cap=3)}, dict.fromkeys("abc", rows().schema))
    one.step({"a": rows(*((at, "p") for at in range(10)))}, 10)
    node = one.graph()[-1]
    assert node.dropped == dropped
    assert node.held <= 3


def test_a_star_keeps_the_newest_middles_under_a_cap() -> None:
    star = Aperiodic(A, B, C, all_at_last=True)
    one = watching(it=Watch(star, Mode.CONTINUOUS, cap=2))
    some = rows(*((at, str(at)) for at in range(1, 6)))
    one.step({"a": rows((0, "p")), "b": some}, 6)
    found = one.step({"c": rows((7, "q"))}, 8).detections["it"]
    assert found["b.v"].to_pylist() == [["4", "5"]]
    assert one.graph()[-1].dropped == 3


@pytest.mark.parametrize("event", [Seq((A, B)), And((A, B)), Seq((A, B), 50), Not(C, A, B)])
@pytest.mark.parametrize("mode", [Mode.CHRONICLE, Mode.CONTINUOUS, Mode.CUMULATIVE])
@pytest.mark.parametrize("marks", [(), (5,), (4, 5)])
def test_what_a_cap_has_cost_does_not_come_back(
    event: Event, mode: Mode, marks: tuple[int, ...]
) -> None:
    one = watching(it=Watch(event, mode, cap=1))
    some = {"a": rows((1, "p"), (2, "q"), (3, "r")), "b": rows((4, "s"), (6, "t"))}
    found = []
    for mark in (*marks, END_OF_TIME):
        found += one.step(some, mark).detections["it"]["a.v"].to_pylist()
        some = {}
    assert found == ([["r"]] if mode is Mode.CUMULATIVE else ["r"])
    assert one.graph()[-1].dropped == 2


EVENTS = [
    Seq((A, B), 8),
    Seq((A, B, C), 8),
    And((A, B, C), 8),
    AnyOf(2, (A, B, C), 8),
    Not(B, A, C, 8),
    Aperiodic(A, B, C, within=8),
    Aperiodic(A, B, C, all_at_last=True, within=8),
    Periodic(A, 3, C, within=8),
    Periodic(A, 3, C, all_at_last=True, within=8),
    Seq((A, Seq((B, C))), 8),
    Plus(A, 8),
    Seq((A, B)),
    And((A, B, C)),
    Not(B, A, C),
    Aperiodic(A, B, C),
    Periodic(A, 300, C),
]


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("event", EVENTS, ids=event_text)
def test_what_is_said_to_be_bounded_is(event: Event, mode: Mode) -> None:
    watch = Watch(event, mode)
    if unbounded(watch):
        watch = replace(watch, cap=10)
    one = Detector({"it": watch}, dict.fromkeys("abc", rows().schema))
    draw = random.Random(3)
    for begin in range(0, 6000, 1500):
        some: dict[str, list[tuple[int, str]]] = {"a": [], "b": [], "c": []}
        for time in range(begin, begin + 1500):
            some[draw.choice("aaaabbbbc")].append((time, "p"))
        one.step({name: rows(*each) for name, each in some.items()}, begin + 1500)
    assert sum(node.held for node in one.graph()) < 100


def test_rows_bags_and_keys_that_nothing_needs_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detector_state, "PATIENCE", 20)
    event = Seq((keyed(A, "v"), keyed(B, "v"), keyed(C, "v")), 50)
    watches = {mode: Watch(event, mode) for mode in Mode}
    one = Detector(watches, dict.fromkeys("abc", rows().schema))
    alone = Detector(watches, dict.fromkeys("abc", rows().schema))
    found: dict[str, list[object]] = {mode: [] for mode in Mode}
    wanted: dict[str, list[object]] = {mode: [] for mode in Mode}
    draw = random.Random(5)
    for time in range(0, 1000, 10):
        some = {
            name: rows(
                *((time + at, f"{(time + at) // 40}") for at in range(10) if draw.random() < 0.4)
            )
            for name in "abc"
        }
        for mode, table in one.step(some, time + 10).detections.items():
            found[mode] += table.to_pylist()
        with monkeypatch.context() as patient:
            patient.setattr(detector_state, "PATIENCE", 10**9)
            for mode, table in alone.step(some, time + 10).detections.items():
                wanted[mode] += table.to_pylist()
    assert found == wanted
    assert all(found.values())
    for name, table in one.kept().tables.items():
        assert table.num_rows == alone.kept().tables[name].num_rows
    assert len(one._state.waiting["a"].rows.ids) < 200 < len(alone._state.waiting["a"].rows.ids)
    assert all(len(space.known) < 20 for space in one._spaces.values())


def test_a_new_watch_takes_up_the_nodes_that_it_shares() -> None:
    old = watching(x=Watch(Seq((A, B))))
    old.step({"a": rows((1, "p"))}, 2)
    both = {"x": Watch(Seq((A, B))), "y": Watch(Seq((A, B)), Mode.CHRONICLE)}
    new = Detector(both, dict.fromkeys("abc", rows().schema), [old.kept()])
    found = new.step({"b": rows((3, "q"))}, 4).detections
    assert found["x"].num_rows == 1
    assert found["y"].num_rows == 0


def test_facts_are_json() -> None:
    one = watching(x=Watch(Seq((A, B))))
    one.step({"a": rows((1, "p"))}, 2)
    kept = one.kept()
    again = replace(kept, facts=json.loads(json.dumps(kept.facts)))
    new = Detector({"x": Watch(Seq((A, B)))}, dict.fromkeys("abc", rows().schema), [again])
    assert new.step({"b": rows((3, "q"))}, 4).detections["x"].num_rows == 1
