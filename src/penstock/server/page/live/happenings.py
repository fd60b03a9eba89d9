"""What happened between two samples: firings, rejects, queries that changed their states: pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from penstock.runtime.views.view import Row
from penstock.server.page.live.sample import Sample, Table

BAD = ("FAILED",)
WORDS = {
    "RUNNING": "runs",
    "FAILED": "is held",
    "STOPPED": "was stopped",
    "FINISHED": "has finished",
    "SUSPENDED": "was suspended",
    "WAITING": "waits for room",
    "OPEN": "is open",
    "IDLE": "is idle",
    "ENDED": "has ended",
    "ENABLED": "was enabled",
    "DISABLED": "was disabled",
}


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened to a query, stream or rule."""

    at: float
    kind: str
    name: str
    text: str
    tone: Literal["good", "warn", "bad", "calm"] = "calm"


def happenings(before: Sample, now: Sample) -> list[Happening]:
    """Return what happened in between, in no order."""
    at = now.at
    return [
        *_states(at, "query", before.queries, now.queries),
        *_states(at, "stream", before.streams, now.streams),
        *_states(at, "rule", before.rules, now.rules),
        *_verdicts(at, before.queries, now.queries),
        *_detections(at, before.events, now.events),
        *_counted(at, "rule", "fired", before.rules, now.rules, "fired for {}"),
        *_counted(at, "dead letter", "dead", before.rules, now.rules, "could not act on {}"),
        *_counted(at, "reject", "rejected", before.streams, now.streams, "rejected {}"),
    ]


def _states(at: float, kind: str, before: Table, now: Table) -> Iterator[Happening]:
    for name in before.keys() - now.keys():
        yield Happening(at, kind, name, "was dropped")
    for name, row in now.items():
        state, cause = row["state"], row.get("cause") or ""
        if name not in before:
            yield Happening(at, kind, name, "was made")
        elif state != before[name]["state"]:
            tone: Literal["bad", "calm"] = "bad" if state in BAD else "calm"
            text = WORDS.get(state, state.lower())
            yield Happening(at, kind, name, f"{text}: {cause}" if cause else text, tone)


def _verdicts(at: float, before: Table, now: Table) -> Iterator[Happening]:
    for name, row in now.items():
        was, is_now = before.get(name, row).get("verdict"), row.get("verdict")
        if was == is_now:
            continue
        if is_now == "broken":
            yield Happening(at, "contract", name, "breaks its contract", "bad")
        elif is_now == "kept":
            yield Happening(at, "contract", name, "keeps its contract", "good")


def _detections(at: float, before: Table, now: Table) -> Iterator[Happening]:
    for name, row in now.items():
        more = _count(row, "detections") - _count(before.get(name, row), "detections")
        if more > 0:
            yield Happening(
                at, "event", name, "was detected" + ("" if more == 1 else f" {more:,} times")
            )


def _counted(
    at: float, kind: str, column: str, before: Table, now: Table, words: str
) -> Iterator[Happening]:
    for name, row in now.items():
        more = _count(row, column) - _count(before.get(name, row), column)
        if more > 0:
            rows = "1 row" if more == 1 else f"{more:,} rows"
            tone: Literal["calm", "warn"] = "calm" if column == "fired" else "warn"
            yield Happening(at, kind, name, words.format(rows), tone)


def _count(row: Row, column: str) -> int:
    return row.get(column) or 0
