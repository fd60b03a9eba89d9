"""Fragments: in which order the jobs of one input are worth most (TIME-27, defect C10).

The printed algorithm compares a root's density with that of pairs and misses optima. This is W. A.
Horn's rule ("Single-machine job sequencing with treelike precedence ordering", 1972): take the node
of the highest density; run it next if nothing comes before it, else merge it with its parent.
"""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Job:
    """One operator's or unit's work for one input; its parent's output is what it reads."""

    seconds: float
    profit: float = 0.0
    parent: str | None = None


Forest = Mapping[str, Job]


@dataclass(frozen=True, slots=True)
class Fragment:
    """Jobs that run one after the other, parents first."""

    jobs: tuple[str, ...]
    seconds: float
    profit: float

    @property
    def density(self) -> float:
        """Return the profit of a second."""
        return self.profit / self.seconds

    def then(self, other: "Fragment") -> "Fragment":
        """Return both as one."""
        return Fragment(
            self.jobs + other.jobs, self.seconds + other.seconds, self.profit + other.profit
        )


def horn_fragments(forest: Forest) -> list[Fragment]:
    """Return the fragments in the order in which they earn most, whatever time there is."""
    groups = {name: Fragment((name,), job.seconds, job.profit) for name, job in forest.items()}
    top = {name: name for name in forest}  # of the group that a job is in
    heap = [(-group.density, name, 1) for name, group in groups.items()]
    heapq.heapify(heap)
    found: list[Fragment] = []
    while heap:
        _, name, size = heapq.heappop(heap)
        group = groups.get(name)
        if group is None or len(group.jobs) != size:
            continue  # merged since
        above = _top_of(top, forest[name].parent)
        del groups[name]
        if above not in groups:
            found.append(group)
            continue
        top[name] = above
        merged = groups[above] = groups[above].then(group)
        heapq.heappush(heap, (-merged.density, above, len(merged.jobs)))
    return found


def _top_of(top: dict[str, str], name: str | None) -> str:
    if name is None:
        return ""
    while top[name] != name:
        top[name] = top[top[name]]
        name = top[name]
    return name
