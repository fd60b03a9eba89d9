"""Apportion: a unit's measured time, divided among its operators by a profile.

A profile runs the plan of a unit up to each of its operators over a small sample. What an operator
adds to its inputs' time is its own; all together are then stretched to what a tuple costs in the
unit's real runs, so that the parts sum up to the whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.schedule.costs.observation import Average, is_figure
from penstock.schedule.costs.record import RunRecord
from penstock.schedule.costs.shape import Path

LEAST_SECONDS = 1e-9  # of a tuple: no clock tells less
LEAST_SHARE = 0.01  # of the profile's time: differences of short times are noise, and never zero


@dataclass(frozen=True, slots=True)
class Border:
    """What came out at an operator in a profile, and the seconds from the leaves up to there."""

    rows: int
    seconds: float


@dataclass(frozen=True, slots=True)
class OperatorShare:
    """One operator of a unit: its tuples in and out and its seconds, for one tuple of the unit."""

    rows_in: float
    rows_out: float
    seconds: float

    def cost(self, weight: float, at: float) -> Average:
        """Return the seconds of a tuple that comes in."""
        return Average(self.seconds / self.rows_in, weight, at) if self.rows_in > 0 else Average()

    def selectivity(self, weight: float, at: float) -> Average:
        """Return the tuples that come out for one."""
        return Average(self.rows_out / self.rows_in, weight, at) if self.rows_in > 0 else Average()


@dataclass(frozen=True, slots=True)
class UnitProfile:
    """What a profile saw at the borders of a unit: its leaves and the operators it could run."""

    inputs: Mapping[str, Path]  # of every operator of the unit, inputs first
    borders: Mapping[str, Border]
    root: str

    @property
    def rows(self) -> int:
        """Return the tuples of the sample."""
        leaves = {below for each in self.inputs.values() for below in each} - self.inputs.keys()
        return sum(self.borders[leaf].rows for leaf in leaves if leaf in self.borders)

    def own_seconds(self) -> dict[str, float]:
        """Return what each operator that was run adds to the time of its inputs."""
        found: dict[str, float] = {}
        for name, below in self.inputs.items():
            if name in self.borders:
                before = sum(self.borders[each].seconds for each in below)
                found[name] = max(0.0, self.borders[name].seconds - before)
        least = LEAST_SHARE * sum(found.values())
        return {name: max(seconds, least) for name, seconds in found.items()}


def apportioned(profile: UnitProfile, record: RunRecord) -> dict[str, OperatorShare]:
    """Return each operator's share of a unit's tuple, so that all seconds sum up to its cost.

    Operators that the profile could not run (a stateful one and those above it) have the time that
    is left. Above it a tuple costs what it does below; how many there are is what came out.
    """
    cost = record.cost.or_else(0.0)
    sample = profile.rows
    if sample <= 0 or not is_figure(cost):
        return {}
    own = profile.own_seconds()
    many = {name: border.rows / sample for name, border in profile.borders.items()}
    out = record.selectivity.or_else(0.0)
    rest = [name for name in profile.inputs if name not in profile.borders]
    rows_in = {
        name: sum(many.get(below, out) for below in each) for name, each in profile.inputs.items()
    }
    seconds = {name: each / sample for name, each in own.items()}
    if rest:
        _give_rest(rest, rows_in, seconds, cost)
    total = sum(seconds.values())
    evenly = cost / len(profile.inputs)  # where the sample was too small to tell them apart
    return {
        name: OperatorShare(
            rows_in[name],
            many.get(name, out),
            seconds[name] / total * cost if total > LEAST_SECONDS else evenly,
        )
        for name in profile.inputs
    }


def explained(profile: UnitProfile, record: RunRecord) -> float:
    """Return the share of a unit's cost that its profile found by itself, before stretching.

    The rest is what every run costs besides its operators: planning, tasks, rows to and from Spark.
    """
    cost, sample = record.cost.or_else(0.0), profile.rows
    return sum(profile.own_seconds().values()) / sample / cost if cost > 0 and sample > 0 else 0.0


def _give_rest(
    rest: Sequence[str], rows_in: Mapping[str, float], seconds: dict[str, float], cost: float
) -> None:
    """Add what the stateful operator and those above it cost."""
    below = sum(seconds.values())
    if below > cost:  # the sample's tuples were dearer than those of the runs
        seconds |= {name: each * cost / below / 2 for name, each in seconds.items()}
        below = sum(seconds.values())
    stateful, *above = rest
    tuples = sum(rows_in[name] for name in seconds)
    a_tuple = below / tuples if tuples > 0 else 0.0
    for name in above:
        seconds[name] = min(a_tuple * rows_in[name], (cost - below) / (2 * len(above)))
    seconds[stateful] = cost - sum(seconds.values())
