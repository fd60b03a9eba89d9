from typing import Any

import pytest

from penstock.server.page.live.happenings import happenings
from tests.unit.server.page.live.samples import seen


def told(before: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    found = happenings(seen(1.0, **before), seen(2.0, **now))
    assert all(each.at == 2.0 for each in found)
    return sorted((each.kind, each.name, each.text, each.tone) for each in found)


def test_where_nothing_happened_nothing_is_told() -> None:
    same = {"queries": {"q": {"verdict": "kept"}}, "rules": {"r": {"fired": 4}}}
    assert told(same, same) == []


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({}, {"queries": {"q": {}}}, ("query", "q", "was made", "calm")),
        ({"streams": {"s": {}}}, {}, ("stream", "s", "was dropped", "calm")),
        (
            {"queries": {"q": {}}},
            {"queries": {"q": {"state": "FAILED", "cause": "disk full"}}},
            ("query", "q", "is held: disk full", "bad"),
        ),
        (
            {"rules": {"r": {}}},
            {"rules": {"r": {"state": "DISABLED"}}},
            ("rule", "r", "was disabled", "calm"),
        ),
        (
            {"queries": {"q": {"verdict": "kept"}}},
            {"queries": {"q": {"verdict": "broken"}}},
            ("contract", "q", "breaks its contract", "bad"),
        ),
        (
            {"queries": {"q": {"verdict": "warming"}}},
            {"queries": {"q": {"verdict": "kept"}}},
            ("contract", "q", "keeps its contract", "good"),
        ),
        (
            {"rules": {"r": {"fired": 1}}},
            {"rules": {"r": {"fired": 2}}},
            ("rule", "r", "fired for 1 row", "calm"),
        ),
        (
            {"events": {"e": {"detections": 1}}},
            {"events": {"e": {"detections": 2}}},
            ("event", "e", "was detected", "calm"),
        ),
        (
            {"events": {"e": {"detections": 1}}},
            {"events": {"e": {"detections": 1_201}}},
            ("event", "e", "was detected 1,200 times", "calm"),
        ),
        (
            {"rules": {"r": {"dead": 0}}},
            {"rules": {"r": {"dead": 1200}}},
            ("dead letter", "r", "could not act on 1,200 rows", "warn"),
        ),
        (
            {"streams": {"s": {"rejected": 0}}},
            {"streams": {"s": {"rejected": 2}}},
            ("reject", "s", "rejected 2 rows", "warn"),
        ),
    ],
)
def test_changes_are_told_in_words(
    before: dict[str, Any], now: dict[str, Any], expected: tuple[str, str, str, str]
) -> None:
    assert told(before, now) == [expected]


def test_counts_that_begin_anew_tell_nothing() -> None:
    assert told({"rules": {"r": {"fired": 9}}}, {"rules": {"r": {"fired": 0}}}) == []
    assert told({"events": {"e": {"detections": 9}}}, {"events": {"e": {"detections": 0}}}) == []
    assert told({}, {"events": {"e": {"detections": 9}}}) == []  # from before this server began
