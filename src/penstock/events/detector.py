"""The seam: occurrences of primitive events in, detections of watched events out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from penstock.model.events import Watch

START = "_start"
END = "_end"
ORDER = "_seq"
END_OF_TIME = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Answer:
    """What a step found.

    `detections` holds a table for each watch: `_start` and `_end` (int64 microseconds), `_seq`,
    and `label.column` for each constituent's columns, lists where the constituent is plural. Its
    rows are in the order of their ends. `late` holds, by primitive event, rows that came behind the
    watermark and take no part.
    """

    detections: Mapping[str, pa.Table]
    late: Mapping[str, pa.Table]


@dataclass(frozen=True, slots=True)
class KeptEvents:
    """A detector's state: facts that JSON can hold, and tables by name."""

    facts: Mapping[str, Any]
    tables: Mapping[str, pa.Table]


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A node of the detection graph as one can look at it."""

    name: str
    operator: str
    mode: str
    parts: tuple[str, ...]
    watches: tuple[str, ...]
    held: int = 0
    dropped: int = 0


@dataclass
class Detector:
    """One graph for all watches; equal sub-expressions in the same mode are one node.

    `step` takes tables by the name of their primitive event: `_end` (int64 microseconds, event
    time), `_seq` (int64, the order of simultaneous occurrences), `_start` where the event lasts,
    and any columns of parameters, the key columns among them. Everything before the watermark is
    known then; what is at it or behind it waits. A step that raises has changed nothing.
    """

    watches: Mapping[str, Watch]
    schemas: Mapping[str, pa.Schema]
    kept_states: Sequence[KeptEvents] = field(default=())

    def step(self, occurrences: Mapping[str, pa.Table], watermark: int) -> Answer:
        """Take occurrences in and return the detections that end before the watermark."""
        raise NotImplementedError

    def kept(self) -> KeptEvents:
        """Return the state for a checkpoint."""
        raise NotImplementedError

    def graph(self) -> tuple[NodeFacts, ...]:
        """Return the nodes of the detection graph, parts before what is made of them."""
        raise NotImplementedError
