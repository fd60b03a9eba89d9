"""Reading: how far a unit has read its inputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.engine.trains.buffers import Train
from penstock.model.trains import BEGIN_OF_TIME
from penstock.plan.sharing.units import Unit

Inputs = Mapping[str, Sequence[Train]]


@dataclass(frozen=True, slots=True)
class Reading:
    """`marks` are the watermarks of the inputs; from those that are `idle` nothing came for long.

    `reached` is what was made of all marks at the last run: no promise is taken back when an idle
    input wakes up.
    """

    marks: Mapping[str, int] = field(default_factory=dict)
    idle: frozenset[str] = frozenset()
    reached: tuple[int, ...] = ()

    def after(self, unit: Unit, inputs: Inputs) -> "Reading":
        """Return it behind a run over these trains."""
        lasts = {name: trains[-1].info for name, trains in inputs.items() if trains}
        marks = self._known(unit) | {name: info.watermark for name, info in lasts.items()}
        idle = (self.idle - lasts.keys()) | {name for name, info in lasts.items() if info.idle}
        reached = Reading(marks, self._resting(inputs), self.reached).below(unit)
        return Reading(marks, idle, reached)

    def below(self, unit: Unit) -> tuple[int, ...]:
        """Return the watermarks of the state's inputs, or the root's; never behind earlier ones."""
        marks = self._known(unit)
        if unit.stateful is None:
            found: tuple[int, ...] = (unit.watermark(marks, self.idle),)
        else:
            found = unit.marks(marks, self.idle)
        if len(self.reached) != len(found):
            return found
        return tuple(map(max, found, self.reached))

    def is_idle(self, unit: Unit) -> bool:
        """Say whether nothing of what the unit reads goes on."""
        return unit.is_idle(self.marks, self.idle)

    def _known(self, unit: Unit) -> dict[str, int]:
        return {name: self.marks.get(name, BEGIN_OF_TIME) for name in unit.inputs}

    def _resting(self, inputs: Inputs) -> frozenset[str]:
        """Return the inputs that are idle all through a run over these trains."""
        heard = {
            name
            for name, trains in inputs.items()
            if any(train.rows.count or not train.info.idle for train in trains)
        }
        fell_idle = {name for name, trains in inputs.items() if trains and trains[-1].info.idle}
        return (self.idle | fell_idle) - heard
