"""Control traffic: what a coordinator says and hears, in the bytes of the relocation protocol."""

from collections import defaultdict
from dataclasses import astuple

from penstock.place import Move, UnitFigures
from penstock.place.relocation.messages import (
    Adopt,
    Adopted,
    Forget,
    Message,
    Release,
    Released,
    Report,
)
from penstock.place.relocation.wire import bundles

MUCH_THE_SAME = 0.1  # figures that differ by less from what was said last are not said again


class ControlTraffic:
    """Messages since the last flush, for each processor; and what was reported last."""

    def __init__(self) -> None:
        self._sent: defaultdict[str, list[Message]] = defaultdict(list)
        self._received: defaultdict[str, list[Message]] = defaultdict(list)
        self._epochs: defaultdict[str, int] = defaultdict(int)
        self._reported: dict[str, UnitFigures] = {}

    def adopt(self, unit: str, processor: str, next_run: int = 0) -> None:
        """A processor is given a unit, and says that it has it."""
        self._epochs[unit] += 1
        self._sent[processor].append(Adopt(unit, self._epochs[unit], next_run))
        self._received[processor].append(Adopted(unit, self._epochs[unit], next_run))

    def move(self, move: Move, next_run: int) -> None:
        """A unit moves."""
        epoch = self._epochs[move.unit]
        self._sent[move.source] += [Release(move.unit, epoch), Forget(move.unit, epoch)]
        self._received[move.source].append(Released(move.unit, epoch, next_run))
        self.adopt(move.unit, move.target, next_run)

    def report(self, unit: str, processor: str, figures: UnitFigures) -> None:
        """A processor reports of a unit, if there is something new."""
        last = self._reported.get(unit)
        if last is None or _differ(last, figures):
            self._reported[unit] = figures
            rounded = (float(f"{each:.4g}") for each in astuple(figures))
            self._received[processor].append(Report(unit, self._epochs[unit], *rounded))

    def flush(self) -> tuple[int, int]:
        """Return the bytes sent and received since the last time, a bundle for each processor."""
        found = []
        for queue in (self._sent, self._received):
            found.append(sum(len(each) for said in queue.values() for each in bundles(said)))
            queue.clear()
        return found[0], found[1]


def _differ(one: UnitFigures, other: UnitFigures) -> bool:
    return any(
        abs(a - b) > MUCH_THE_SAME * max(abs(a), abs(b))
        for a, b in zip(astuple(one), astuple(other), strict=True)
    )
