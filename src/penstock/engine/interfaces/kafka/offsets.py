"""Offsets of partitions: what of them a train holds, and where the next one begins.

As a boundary: `{"topics": {"cars": {"0": [first, next, records]}}, "silent": ["cars/1"]}`. All
known partitions are in it, those without records too, so that the last boundary alone says where
to go on. Those that are `silent` do not hold the stream's time back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.engine.interfaces.interface import Boundary

Partition = tuple[str, int]
Positions = Mapping[Partition, int]  # the offset that is read next


@dataclass(frozen=True, slots=True)
class Run:
    """Records of one partition: offsets from `first` up to below `next`, gaps left out."""

    first: int
    next: int
    records: int


@dataclass(frozen=True, slots=True)
class TrainRuns:
    """What a train holds of each known partition, and which of these are silent."""

    runs: Mapping[Partition, Run]
    silent: frozenset[Partition] = frozenset()

    def boundary(self) -> Boundary:
        """Return it as the journal keeps it."""
        topics: dict[str, dict[str, list[int]]] = {}
        for (topic, number), run in sorted(self.runs.items()):
            topics.setdefault(topic, {})[str(number)] = [run.first, run.next, run.records]
        silent = sorted(map(part_name, self.silent))
        return {"topics": topics, "silent": silent} if silent else {"topics": topics}

    @classmethod
    def of(cls, boundary: Boundary) -> "TrainRuns":
        """Return what a boundary says."""
        runs = {
            (topic, int(number)): Run(*map(int, run))
            for topic, numbers in boundary["topics"].items()
            for number, run in numbers.items()
        }
        silent = set(boundary.get("silent", ()))
        return cls(runs, frozenset(each for each in runs if part_name(each) in silent))

    @property
    def positions(self) -> Positions:
        """Return where the next train begins."""
        return {partition: run.next for partition, run in self.runs.items()}

    @property
    def live(self) -> Iterable[Partition]:
        """Return the partitions that hold the stream's time back."""
        return [each for each in self.runs if each not in self.silent]

    @property
    def held(self) -> list[tuple[Partition, Run]]:
        """Return the partitions of which there are records, in the order of the train's rows."""
        return [(each, run) for each, run in sorted(self.runs.items()) if run.records]


def part_name(partition: Partition) -> str:
    """Return the name of a partition as a part of the source."""
    topic, number = partition
    return f"{topic}/{number}"
