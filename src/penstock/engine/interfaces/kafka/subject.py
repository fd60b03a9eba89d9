"""Which partitions a stream reads, and where each begins; recorded when it is first seen.

What is recorded holds for good: `latest` stays the end that a partition had then, whatever came
before the first train was taken. Partitions that are found later begin with their first record.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import OFFSET_END, Consumer, TopicPartition

from penstock.engine.interfaces.durable import read_json, write_json
from penstock.engine.interfaces.kafka.offsets import Partition, Positions
from penstock.errors import SourceError

EARLIEST, LATEST = "earliest", "latest"
INTERNAL = "__"  # what the names of Kafka's own topics begin with

Start = str | datetime


@dataclass(frozen=True, slots=True)
class Subject:
    """Topics by their names, or all whose whole names match a pattern (RE2)."""

    topics: tuple[str, ...]
    pattern: str | None
    start: Start
    bounded: bool

    def partitions(self, consumer: Consumer, seconds: float) -> frozenset[Partition]:
        """Return what is there now; SourceError where a topic that is named is not."""
        known = consumer.list_topics(timeout=seconds).topics
        names = self.topics if self.pattern is None else _matching(known, self.pattern)
        for name in names:
            if name not in known or known[name].error is not None:
                raise SourceError(
                    f"there is no topic {name}", hint="make it there, or name another one"
                )
        return frozenset((name, number) for name in names for number in known[name].partitions)


class Beginnings:
    """Where each partition began, and where it ends where the stream is bounded, on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        kept = read_json(path)
        self.starts = _loaded(kept["starts"]) if kept else {}
        self.ends = _loaded(kept["ends"]) if kept else {}
        self.is_new = kept is None

    def add(
        self, subject: Subject, found: Iterable[Partition], consumer: Consumer, seconds: float
    ) -> None:
        """Record where partitions begin that are not known yet."""
        new = sorted(set(found) - self.starts.keys())
        if not new:
            return
        start = subject.start if self.is_new else EARLIEST
        edges = {each: edges_of(consumer, each, seconds) for each in new}
        after = _after(consumer, new, start, seconds) if isinstance(start, datetime) else {}
        for each in new:
            low, high = edges[each]
            self.starts[each] = low if start == EARLIEST else after.get(each, high)
            if subject.bounded and self.is_new:
                self.ends[each] = high
        self.is_new = False
        kept = {"starts": _stored(self.starts), "ends": _stored(self.ends)}
        write_json(self._path, kept)


def edges_of(consumer: Consumer, partition: Partition, seconds: float) -> tuple[int, int]:
    """Return the first offset that a partition has, and the one that it gives next."""
    edges: Any = consumer.get_watermark_offsets(TopicPartition(*partition), timeout=seconds)
    if edges is None:
        raise SourceError(f"{partition[0]}, partition {partition[1]}: the broker did not answer")
    low, high = edges
    return int(low), int(high)


def _after(
    consumer: Consumer, partitions: Iterable[Partition], at: datetime, seconds: float
) -> Positions:
    """Return the first offsets with times from `at` on, where there are any."""
    moment = int(at.timestamp() * 1000)
    asked = [TopicPartition(*each, moment) for each in partitions]
    found = consumer.offsets_for_times(asked, timeout=seconds)
    return {(p.topic, p.partition): p.offset for p in found if p.offset != OFFSET_END}


def _matching(known: Mapping[str, Any], pattern: str) -> list[str]:
    names = sorted(name for name in known if not name.startswith(INTERNAL))
    whole = pc.match_substring_regex(pa.array(names, pa.string()), f"^(?:{pattern})$")
    return [name for name, fits in zip(names, whole.to_pylist(), strict=True) if fits]


def _stored(offsets: Positions) -> list[list[Any]]:
    return [[topic, number, offset] for (topic, number), offset in sorted(offsets.items())]


def _loaded(kept: Iterable[Any]) -> dict[Partition, int]:
    return {(topic, number): offset for topic, number, offset in kept}
