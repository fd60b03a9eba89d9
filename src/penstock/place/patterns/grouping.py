"""Grouping: units that stand together stay together, in groups of equal size (DCAPE-26).

Algorithm 3 of Sutherland's thesis (WPI, 2004) cannot run as it is printed: it does not come back
for what it left out, and never asks which units it has used. This is the same climb from a leaf to
its readers, which takes all that is below a reader where that still fits.
"""

from collections.abc import Iterator, Sequence
from math import ceil

from penstock.place.network import Network
from penstock.place.processor import Processor


def grouping(network: Network, processors: Sequence[Processor]) -> dict[str, str]:
    """Return a placement of at most n / p units a processor, neighbours together."""
    quota = ceil(len(network.units) / len(processors))
    return {
        unit: processors[place // quota].name
        for place, unit in enumerate(_Climb(network, quota).order())
    }


class _Climb:
    """The order in which units are taken; each `quota` of them are one group."""

    def __init__(self, network: Network, quota: int) -> None:
        self._quota = quota
        self._readers = network.readers()
        self._below = {
            name: tuple(each for each in unit.inputs if each in network.units)
            for name, unit in network.units.items()
        }
        self._order = self._inputs_first(
            [name for name in network.units if not self._readers[name]]
        )
        self._taken: dict[str, None] = {}

    def order(self) -> list[str]:
        """Return all units as they are taken."""
        while unit := self._start():
            while unit:
                unit = self._take_and_climb(unit)
        return list(self._taken)

    def _start(self) -> str:
        """Return the first leaf that is left, or else the first unit above what is taken."""
        left = [name for name in self._order if name not in self._taken]
        leaves = (name for name in left if not self._below[name])
        ready = (name for name in left if self._is_covered(name))
        return next(leaves, "") or next(ready, "")

    def _take_and_climb(self, unit: str) -> str:
        """Take a unit, and what is below its reader if that fits; return the reader to take."""
        self._taken[unit] = None
        reader = next((each for each in self._readers[unit] if each not in self._taken), "")
        if not reader:
            return ""
        below = [name for name in self._inputs_first([reader])[:-1] if name not in self._taken]
        if len(below) + self._count() < self._quota:
            self._taken.update(dict.fromkeys(below))
        return reader if self._count() < self._quota or self._is_covered(reader) else ""

    def _count(self) -> int:
        """Return how many units the present group has; a full one counts until the next begins."""
        return (len(self._taken) - 1) % self._quota + 1

    def _is_covered(self, unit: str) -> bool:
        return all(each in self._taken for each in self._below[unit])

    def _inputs_first(self, roots: Sequence[str]) -> list[str]:
        """Return some units and all below them, each after what it reads."""
        found: dict[str, None] = {}

        def visit(unit: str) -> Iterator[str]:
            for each in self._below[unit]:
                if each not in found:
                    yield from visit(each)
            found[unit] = None
            yield unit

        return [unit for root in roots if root not in found for unit in visit(root)]
