"""The examples of `docs/reference/events.md`, read and run.

A history is written as it happens, one occurrence a second: `a1 a2 b1`; `a1@4` happens in second 4.
A detection is written as its constituents in their order: `(a1, b1)`, `({a1, a2}, b1)`, and `5 s`
for a tick in second 5.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from penstock.events.detection.detector import END, END_OF_TIME, ORDER, START, Detector
from penstock.model.event_forms import shared_form
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
    primitives,
)

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "events.md"
SECOND = 1_000_000
SCHEMA = pa.schema([(END, pa.int64()), (ORDER, pa.int64()), ("name", pa.string())])
A, B, C = (Primitive(name, name) for name in "abc")

EXPRESSIONS: dict[str, Event] = {
    "a OR b": Or((A, B)),
    "a AND b": And((A, B)),
    "a SEQ b": Seq((A, B)),
    "a SEQ a": Seq((A, Primitive("a", "again"))),
    "a SEQ b SEQ c": Seq((A, B, C)),
    "a SEQ b SEQ c WITHIN 3 seconds": Seq((A, B, C), 3 * SECOND),
    "a SEQ (b SEQ c)": Seq((A, Seq((B, C)))),
    "ANY(2, a, b, c)": AnyOf(2, (A, B, C)),
    "NOT(b)[a, c]": Not(B, A, C),
    "NOT(b)[a, a PLUS 3 seconds]": Not(B, A, Plus(Primitive("a"), 3 * SECOND)),
    "A(a, b, c)": Aperiodic(A, B, C),
    "A*(a, b, c)": Aperiodic(A, B, C, all_at_last=True),
    "P(a, 2 seconds, c)": Periodic(A, 2 * SECOND, C, label="tick"),
    "P*(a, 2 seconds, c)": Periodic(A, 2 * SECOND, C, all_at_last=True, label="tick"),
    "a PLUS 3 seconds": Plus(A, 3 * SECOND),
}


@dataclass(frozen=True)
class Example:
    expression: str
    history: str
    row: str
    answer: str


def examples(text: str) -> list[Example]:
    """Return the rows of all tables that stand under an expression and a history."""
    found = []
    asked = re.compile(r"^`(?P<event>[^`]+)` over `(?P<history>[^`]+)`", re.MULTILINE)
    rows = re.compile(r"^\| (?P<row>[^|]+) \| (?P<answer>[^|]*) \|$", re.MULTILINE)
    places = [*asked.finditer(text)]
    for place, each in enumerate(places):
        end = places[place + 1].start() if place + 1 < len(places) else len(text)
        table = text[each.end() : end].split("\n\n")[1]
        for row in [*rows.finditer(table)][2:]:
            name, answer = row["row"].strip(), row["answer"].strip()
            found.append(Example(each["event"], each["history"], name, answer))
    return found


def answered(example: Example) -> str:
    """Return what a detector says, as the page writes it."""
    event = EXPRESSIONS[example.expression]
    words = example.row.replace("-", "_").split(", ")
    watch = Watch(event, Mode(words[0]), point="point" in words)
    names = sorted({leaf.name for leaf in primitives(event)})
    detector = Detector({"it": watch}, dict.fromkeys(names, SCHEMA))
    table = detector.step(history(example.history, names), END_OF_TIME).detections["it"]
    labels = sorted(
        [label for label in shared_form(event).labels if f"{label}.name" in table.column_names]
    ) + ["tick"] * any("tick" in name for name in table.column_names)
    if labels == ["a", "c", "tick"]:
        labels = ["a", "tick", "c"]
    return " ".join(f"({', '.join(written(row, labels))})" for row in table.to_pylist()) or "none"


def written(row: dict[str, object], labels: list[str]) -> list[str]:
    said = []
    for label in labels:
        value = row[f"{label}.tick" if label == "tick" else f"{label}.name"]
        if value is None or value == []:
            continue
        if isinstance(value, list):
            said.append("{" + ", ".join(spoken(each) for each in value) + "}")
        else:
            said.append(spoken(value))
    if labels == ["a"]:
        said.append(spoken(row[END]))
    return said


def spoken(value: object) -> str:
    return value if isinstance(value, str) else f"{int(str(value)) // SECOND} s"


def history(text: str, names: list[str]) -> dict[str, pa.Table]:
    rows: dict[str, list[tuple[int, int, str]]] = {name: [] for name in names}
    for number, word in enumerate(text.split(), start=1):
        name, _, second = word.partition("@")
        rows[name[0]].append((int(second or number) * SECOND, number, name))
    return {
        name: pa.table([*map(list, zip(*some, strict=True))] or [[], [], []], schema=SCHEMA)
        for name, some in rows.items()
    }


__all__ = ["EXPRESSIONS", "PAGE", "START", "Example", "answered", "examples"]
