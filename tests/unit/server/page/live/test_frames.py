"""What changes tell, put on what was there before, is what there is."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.views.relations.contracts import LOAD
from penstock.server.page.live.curves import MOST_POINTS
from penstock.server.page.live.frames import Frame, Frames, frame_event
from tests.unit.server.page.live import samples
from tests.unit.server.page.live.samples import seen

NAMES = st.sampled_from(["a", "b", 'it"s\n<b>', "ü"])
ROWS = st.fixed_dictionaries(
    {"state": st.sampled_from(["RUNNING", "FAILED", "STOPPED"]), "late_rows": st.integers(0, 3)}
)
TABLES = st.fixed_dictionaries(
    {
        "queries": st.dictionaries(NAMES, ROWS),
        "units": st.dictionaries(NAMES, st.fixed_dictionaries({"runs": st.integers(0, 3)})),
    }
)


def data(told: bytes) -> dict[str, Any]:
    """Return what an event tells, as a browser reads it."""
    lines = told.decode().split("\n")
    assert told.endswith(b"\n\n")
    (text,) = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    found: dict[str, Any] = json.loads(text)
    return found


def put_on(tables: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Do what the page does with changes."""
    found = {}
    for name, rows in tables.items():
        kept = {each: row for each, row in rows.items() if each not in changes[name]["gone"]}
        for each, row in changes[name]["set"].items():
            kept[each] = {**kept.get(each, {}), **row}
        found[name] = kept
    return found


def drawn_on(curves: dict[str, Any], point: dict[str, Any] | None) -> dict[str, Any]:
    """Do what the page does with a point of the curves."""
    if point is None:
        return curves
    size = len(curves["at"])
    longer = {
        kind: {
            name: [*curves[kind].get(name, [None] * size), pair][-MOST_POINTS:]
            for name, pair in point[kind].items()
        }
        for kind in ("queries", "units")
    }
    return {"at": [*curves["at"], point["at"]][-MOST_POINTS:], **longer}


@given(st.lists(TABLES, min_size=2, max_size=6))
def test_whoever_follows_changes_knows_what_a_newcomer_is_told(
    moments: list[dict[str, Any]],
) -> None:
    frames = Frames()
    made = [frames.of(seen(100.0 + 9 * n, **tables)) for n, tables in enumerate(moments)]
    held = data(made[0].whole)
    points, happened = held["points"], held["happened"]
    tables, curves = held["tables"], held["curves"]
    for frame in made[1:]:
        change = data(frame.change)
        tables = put_on(tables, change["tables"])
        points, happened = [*points, change["point"]], [*happened, *change["happened"]]
        curves = drawn_on(curves, change.get("curve"))
    newcomer = data(made[-1].whole)
    assert (tables, curves, points, happened) == (
        newcomer["tables"],
        newcomer["curves"],
        newcomer["points"],
        newcomer["happened"],
    )


def test_what_stays_as_it_is_is_not_told_again() -> None:
    frames = Frames()
    frames.of(seen(1.0, queries={"q": {}}, streams={"s": {}}))
    change = data(frames.of(seen(2.0, queries={"q": {"late_rows": 1}}, streams={"s": {}})).change)
    assert change["tables"]["queries"] == {"set": {"q": {"late_rows": 1}}, "gone": []}
    assert change["tables"]["streams"] == {"set": {}, "gone": []}


def test_a_frame_is_made_into_bytes_once() -> None:
    frame = Frames().of(seen(1.0))
    assert frame.whole is frame.whole
    assert frame.change is frame.change


def test_curves_and_happenings_reach_ten_minutes_back() -> None:
    frames = Frames()
    frame = frames.of(seen(0.0))
    for at in range(1, 700):
        frame = frames.of(seen(float(at), queries={"q": {"late_rows": at}, f"q{at}": {}}))
    told = data(frame.whole)
    assert told["points"][0][0] == 99.0
    assert len(told["points"]) == 601
    assert all(each["at"] >= 99.0 for each in told["happened"])
    assert len(told["happened"]) <= 500


def test_the_shape_changes_with_units_streams_and_running_queries_alone() -> None:
    def shape(frame: Frame) -> int:
        found: int = data(frame.whole)["shape"]
        return found

    frames = Frames()
    first = shape(frames.of(seen(1.0, queries={"q": {}}, units={"u": {}})))
    same = shape(frames.of(seen(2.0, queries={"q": {"late_rows": 9}}, units={"u": {"runs": 5}})))
    stopped = shape(frames.of(seen(3.0, queries={"q": {"state": "STOPPED"}}, units={"u": {}})))
    recut = shape(frames.of(seen(4.0, queries={"q": {"state": "STOPPED"}}, units={"v": {}})))
    assert first == same < stopped < recut


def test_units_have_rates_of_the_last_seconds() -> None:
    frames = Frames()
    for n in range(21):
        unit = {"rows_in": 100 * n, "rows_out": 10 * n, "busy_s": 0.5 * n, "runs": n + 1}
        frame = frames.of(seen(float(n), units={"u": unit}, load={"slots": 2}))
    told = data(frame.whole)["tables"]["units"]["u"]
    assert (told["in_per_s"], told["out_per_s"], told["busy"]) == (100.0, 10.0, 0.25)
    made_anew = frames.of(seen(21.0, units={"u": {"runs": 1}}))
    assert data(made_anew.whole)["tables"]["units"]["u"]["in_per_s"] == 0.0


def test_no_text_breaks_out_of_an_event() -> None:
    told = frame_event("all", {"cause": "a\n\nevent: end\ndata: {}\r\n\u2028"}, 7)
    assert data(told) == {"cause": "a\n\nevent: end\ndata: {}\r\n\u2028"}
    assert told.count(b"\n") == 4


def test_the_load_that_tests_make_up_has_columns_of_the_view_alone() -> None:
    assert samples.LOAD.keys() <= set(LOAD.columns.names)


def test_what_json_has_no_number_for_is_null() -> None:
    told = {"a": float("nan"), "b": [1.5, float("inf")], "c": {"d": (float("-inf"), "x", None)}}
    assert data(frame_event("change", told)) == {
        "a": None,
        "b": [1.5, None],
        "c": {"d": [None, "x", None]},
    }
