"""Events bound: masks below, keys in the matching, everything else above the detection."""

from collections.abc import Mapping

import pytest

from penstock.errors import PenstockError
from penstock.model.event_forms import constituents, event_text
from penstock.model.events import Mode, Primitive, Seq, primitives
from penstock.plan.events.bind_event import EventBinder
from penstock.plan.operators import (
    Detect,
    EventBundle,
    EventTime,
    Filter,
    Operator,
    Project,
    Scan,
    key,
)
from penstock.plan.operators.graph import Graph
from penstock.plan.relations.sources import EventSource, Source, StreamSource
from penstock.plan.sharing.bundles import bundled
from penstock.plan.sharing.units import cut_at_shared
from penstock.sql import CreateEvent, parse
from tests.unit.plan.twin import ROADS, TwinAnalyst, columns

ROOMS = Scan("rooms", 1, columns(ts="timestamp", room="string", temp="int"), (EventTime("ts"),))
SMOKES = Scan("smokes", 2, columns(at="timestamp", room="string", level="int"), (EventTime("at"),))
TIMELESS = Scan("timeless", 3, columns(at="timestamp", room="string"))
HOT = "SELECT room, temp MASK temp > 40 FROM rooms"
SMOKE = "SELECT room, level FROM smokes"
EVENTS = {"hot": HOT, "smoke": SMOKE}


def bind(body: str, mode: Mode = Mode.RECENT, events: Mapping[str, str] = EVENTS) -> Operator:
    """Bind an event over a small world."""

    def lookup(name: str) -> Source | None:
        named = {"rooms": ROOMS, "smokes": SMOKES, "timeless": TIMELESS}
        if name.lower() in named:
            return StreamSource(named[name.lower()])
        if name.lower() == "roads":
            return ROADS
        if name.lower() in events:
            return EventSource(lambda mode: bind(events[name.lower()], mode, events))
        return None

    (statement,) = parse(f"CREATE EVENT e AS {body}")
    assert isinstance(statement, CreateEvent)
    return EventBinder(lookup, TwinAnalyst()).bind(statement.event, mode)


def detect(body: str, mode: Mode = Mode.RECENT, events: Mapping[str, str] = EVENTS) -> Detect:
    root = bind(body, mode, events)
    assert isinstance(root, Detect)
    return root


def code(body: str, mode: Mode = Mode.RECENT, events: Mapping[str, str] = EVENTS) -> str:
    with pytest.raises(PenstockError) as refused:
        bind(body, mode, events)
    return refused.value.code


def test_a_primitive_event_is_a_filter_and_a_projection_with_its_time() -> None:
    hot = bind(HOT)
    assert isinstance(hot, Project)
    assert dict(hot.columns) == {
        "room": "`room`",
        "temp": "`temp`",
        "_start": "`ts`",
        "_end": "`ts`",
    }
    assert hot.times[0] == EventTime("_end")
    assert isinstance(hot.input, Filter)
    assert hot.input.conditions == ("`temp` > 40",)


def test_equalities_that_link_all_constituents_are_keys_of_the_matching() -> None:
    found = detect("SELECT h.temp FROM (smoke s SEQ hot h) WHERE s.room = h.room")
    assert {each.key for each in primitives(found.watch.event)} == {("room",)}
    assert found == detect("SELECT h.temp FROM (smoke s SEQ hot h) PARTITION BY room")


def test_attributes_of_one_constituent_that_equal_its_key_are_its_mask() -> None:
    found = detect(
        "SELECT h.temp FROM (smoke s SEQ (SELECT ts, room, room AS again, temp FROM rooms) h) "
        "WHERE s.room = h.room AND s.room = h.again"
    )
    asked = [
        node.input.conditions
        for node in found.primitives
        if isinstance(node, Project) and isinstance(node.input, Filter)
    ]
    assert asked == [("`room` = `room`",)]


def test_a_condition_on_one_constituent_is_part_of_its_mask() -> None:
    found = detect(
        "SELECT h.temp FROM (smoke s SEQ hot h) WHERE s.level > 3 WITHIN INTERVAL 1 MINUTE"
    )
    masks = [
        node.input.conditions
        for node in found.primitives
        if isinstance(node, Project) and isinstance(node.input, Filter)
    ]
    assert ("`level` > 3",) in masks
    assert not any(each.key for each in primitives(found.watch.event))


def test_other_conditions_are_asked_of_detections() -> None:
    root = bind(
        "SELECT h.temp FROM (smoke s SEQ hot h) WHERE s.level < h.temp WITHIN INTERVAL 1 MINUTE"
    )
    assert isinstance(root, Project)
    assert isinstance(root.input, Filter)
    assert root.input.conditions == ("`s.level` < `h.temp`",)
    assert isinstance(root.input.input, Detect)
    assert root.times == (EventTime("_end"),)


def test_an_equality_of_some_constituents_is_asked_of_detections() -> None:
    root = bind(
        "SELECT h.temp FROM (smoke s SEQ hot h SEQ hot g) WHERE s.room = h.room "
        "WITHIN INTERVAL 1 MINUTE"
    )
    assert isinstance(root, Project)
    assert isinstance(root.input, Filter)


def test_labels_and_names_make_no_other_node() -> None:
    one = detect("SELECT h.temp AS t FROM (smoke s SEQ hot h) PARTITION BY room")
    other = detect("SELECT b.temp AS t FROM (smoke AS a SEQ hot AS b) WHERE b.room = a.room")
    assert key(one) == key(other)
    assert key(one) != key(detect("SELECT s.level AS t FROM (smoke s SEQ hot h) PARTITION BY room"))


def test_every_mode_is_a_node_of_its_own() -> None:
    body = "SELECT h.temp FROM (smoke s SEQ hot h) PARTITION BY room WITHIN INTERVAL 1 MINUTE"
    assert len({key(bind(body, mode)) for mode in Mode}) == len(Mode)


def test_parameters_are_arrays_where_several_occurrences_take_part() -> None:
    body = "SELECT s.level, h.temp FROM (smoke s SEQ hot h) WITHIN INTERVAL 1 MINUTE"
    types = {c.name: c.type for c in bind(body, Mode.CUMULATIVE).schema}
    assert types["level"] == "array<int>"
    assert types["temp"] == "int"
    star = "SELECT s.level, h.temp FROM A*(smoke s, hot h, smoke e) WITHIN INTERVAL 1 MINUTE"
    assert {c.name: c.type for c in bind(star).schema}["temp"] == "array<int>"


def test_an_event_over_an_event_is_one_expression() -> None:
    events = {**EVENTS, "fire": "SELECT h.room, h.temp FROM (smoke s SEQ hot h) PARTITION BY room"}
    over = detect(
        "SELECT f.temp, g.level FROM (fire f SEQ smoke g) PARTITION BY room", events=events
    )
    whole = detect(
        "SELECT h.temp, g.level FROM ((smoke s SEQ hot h) SEQ smoke g) PARTITION BY room"
    )
    assert over.primitives == whole.primitives
    assert over.watch.event == whole.watch.event
    assert key(over) == key(whole)


@pytest.mark.parametrize(
    "why",
    [
        "SELECT f.temp FROM (fire f SEQ smoke g) WHERE f.temp > 60 WITHIN INTERVAL 1 MINUTE",
        "SELECT f.temp FROM (fire f SEQ smoke g) WITHIN INTERVAL 1 MINUTE",
        "SELECT f._start AS began FROM (fire f SEQ smoke g) PARTITION BY room",
        "SELECT f.temp FROM (fire f SEQ smoke g) PARTITION BY room WITH (semantics => 'point')",
        "SELECT f.temp FROM (fire f SEQ smoke g) PARTITION BY room WITHIN INTERVAL 1 MINUTE",
    ],
    ids=["masked", "other keys", "its own times", "other semantics", "a shorter span"],
)
def test_an_event_that_cannot_be_part_of_another_is_fed_as_rows(why: str) -> None:
    events = {**EVENTS, "fire": "SELECT h.room, h.temp FROM (smoke s SEQ hot h) PARTITION BY room"}
    found = detect(why, events=events)
    assert any(isinstance(base, Detect) for base in found.inputs)
    assert {each.lasts for each in primitives(found.watch.event)} == {True, False}


def test_a_query_or_a_stream_is_an_event_too() -> None:
    found = detect("SELECT r.temp, s.level FROM (smokes s SEQ rooms r) PARTITION BY room")
    assert [type(each) for each in found.primitives] == [Project, Project]
    inline = detect(
        "SELECT b.temp FROM (smoke s SEQ (SELECT ts, room, temp FROM rooms WHERE temp > 50) b) "
        "PARTITION BY room"
    )
    assert {base.text() for base in inline.inputs} == {"scan rooms#1", "scan smokes#2"}


def test_a_sequence_of_three_is_one_operator_and_parentheses_make_another() -> None:
    flat = detect("SELECT h.temp FROM smoke s SEQ hot h SEQ hot g PARTITION BY room")
    assert isinstance(flat.watch.event, Seq)
    assert len(flat.watch.event.parts) == 3
    right = detect(
        "SELECT h.temp FROM smoke s SEQ (hot h SEQ hot g) PARTITION BY room "
        "WITHIN INTERVAL 1 MINUTE"
    )
    assert isinstance(right.watch.event, Seq)
    assert [type(part) for part in right.watch.event.parts] == [Primitive, Seq]


def test_ticks_have_a_name_and_a_time() -> None:
    found = detect("SELECT t.tick FROM P(smoke s, INTERVAL 10 SECONDS, hot h) t PARTITION BY room")
    assert found.schema.columns[0].type == "timestamp"
    assert "10000000 us" in event_text(found.watch.event)
    assert "t" not in {each.label for each in constituents(found.watch)}


WRONG = (
    ("SELECT x.temp FROM (smoke s SEQ hot h) PARTITION BY room", "UNKNOWN_COLUMN"),
    ("SELECT h.tmp FROM (smoke s SEQ hot h) PARTITION BY room", "UNKNOWN_COLUMN"),
    ("SELECT room FROM (smoke s SEQ hot h) PARTITION BY room", "BAD_QUERY"),
    ("SELECT h.temp FROM (smoke s SEQ hit h)", "UNKNOWN_NAME"),
    ("SELECT temp MASK tmp > 4 FROM rooms", "UNKNOWN_COLUMN"),
    ("SELECT h.temp FROM (hot h SEQ hot h)", "BAD_EVENT"),
    ("SELECT h.temp FROM (hot SEQ hot h SEQ hot)", "BAD_EVENT"),
    ("SELECT h.temp FROM (smoke s SEQ hot h) PARTITION BY temp", "UNKNOWN_COLUMN"),
    ("SELECT h.temp FROM (smoke s SEQ hot h) WHERE s.room = h.temp", "TYPE_MISMATCH"),
    ("SELECT h.temp FROM (smoke s SEQ roads h)", "BAD_EVENT"),
    ("SELECT room FROM timeless", "BAD_EVENT"),
    ("SELECT n.temp FROM NOT(hot n)[smoke s, smoke e] PARTITION BY room", "BAD_EVENT"),
    ("SELECT room AS _end FROM rooms", "BAD_EVENT"),
    ("SELECT h.temp AS _start FROM (smoke s SEQ hot h)", "BAD_EVENT"),
    ("SELECT h.room, s.room FROM (smoke s SEQ hot h)", "BAD_QUERY"),
    ("SELECT h.temp FROM A*(smoke s, hot h, smoke e) PARTITION BY room", "BAD_EVENT"),
    ("SELECT room FROM rooms WITH (limit => 3)", "BAD_EVENT"),
    ("SELECT h.temp FROM (smoke s SEQ hot h) WHERE 1 = 1", "BAD_EVENT"),
    ("SELECT h.temp FROM (smoke s SEQ hot h) WHERE h.temp IN (SELECT id FROM roads)", "BAD_QUERY"),
)


@pytest.mark.parametrize(("body", "expected"), WRONG)
def test_what_is_wrong_has_a_code(body: str, expected: str) -> None:
    assert code(body) == expected


def test_what_would_grow_without_bound_needs_within_or_a_limit() -> None:
    body = "SELECT h.temp FROM (smoke s SEQ hot h) PARTITION BY room"
    assert code(body, Mode.CHRONICLE) == "BAD_EVENT"
    assert bind(f"{body} WITHIN INTERVAL 1 MINUTE", Mode.CHRONICLE)
    assert detect(f"{body} WITH (limit => 10)", Mode.CHRONICLE).watch.cap == 10
    with pytest.raises(PenstockError) as refused:
        bind(body, Mode.CHRONICLE)
    assert "s[room]" in refused.value.message or " s" in refused.value.message
    assert refused.value.place is not None


def test_events_over_the_same_bases_are_one_unit_with_many_roots() -> None:
    one = bind("SELECT h.temp FROM (smoke s SEQ hot h) PARTITION BY room")
    other = bind("SELECT h.temp FROM (smoke s AND hot h) PARTITION BY room")
    alone = bind("SELECT h.temp FROM (hot g SEQ hot h) PARTITION BY room")
    graph = bundled(Graph({"one": one, "other": other, "alone": alone}))
    units = cut_at_shared(graph)
    assert sorted(len(unit.roots) for unit in units) == [1, 2]
    assert all(isinstance(unit.stateful, EventBundle) for unit in units)
    given = {key(root) for unit in units for root in unit.roots}
    assert given == {key(one), key(other), key(alone)}


def test_a_detection_inside_a_query_is_a_root_of_its_bundle() -> None:
    fire = bind("SELECT h.temp FROM (smoke s SEQ hot h) PARTITION BY room")
    hotter = Filter(fire, ("`temp` > 60",))
    units = cut_at_shared(bundled(Graph({"q": hotter})))
    assert {type(unit.root) for unit in units} == {EventBundle, Filter}
    reading = next(unit for unit in units if isinstance(unit.root, Filter))
    assert reading.inputs == (key(fire),)
