"""What each way to keep a join's tuples takes, and by how much it delays rows (TIME-10 to -12).

    plain    all that is needed stays in memory
    msf      memory-sort first: the newest k wait until they can be put in order
    dbf      disk-buffer first: tuples that are ahead of the others go to disk, and come back early
    hybrid   both: sorted first, then the leading ones to disk

The thesis leaves the sort buffer out of its formulas and finds it to be most of what sorting takes
(its section 3.5.1); here it counts. `C` of TIME-11, how far tuples are read back ahead of the
others, has no value there.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.qos.joins.bounds import MATCHING, kept_for, while_settling
from penstock.qos.joins.figures import InputFigures

STRATEGIES = ("plain", "dbf", "msf", "hybrid")  # the least latency first
SORTING = ("msf", "hybrid")
ON_DISK = ("dbf", "hybrid")
READ_AHEAD = 256  # tuples: C of TIME-11, of which a read from disk brings many anyway
DISK_TIMES = 3  # TIME-11: with less lag than so many reads and writes, disk would be behind
DISK_SECONDS = 0.004  # to write a small file and read it back


@dataclass(frozen=True, slots=True)
class Cost:
    """What a strategy keeps in memory of each input, in tuples, and how long rows wait for it."""

    strategy: str
    tuples: tuple[int, ...]
    seconds: float

    @property
    def all_tuples(self) -> int:
        """Return what it keeps of all inputs."""
        return sum(self.tuples)


def costs(inputs: Sequence[InputFigures]) -> tuple[Cost, ...]:
    """Return the cost of every strategy, the least latency first."""
    return tuple(cost(strategy, inputs) for strategy in STRATEGIES)


def cost(strategy: str, inputs: Sequence[InputFigures]) -> Cost:
    """Return what a strategy takes by the printed formulas, with the sort buffer and C11."""
    kept = tuple(_kept(strategy, inputs, place) for place in range(len(inputs)))
    return Cost(strategy, kept, _seconds(strategy, inputs))


def leads(inputs: Sequence[InputFigures], place: int, disk_seconds: float = DISK_SECONDS) -> bool:
    """Say whether an input is so far ahead of another that its tuples may go to disk meanwhile."""
    one = inputs[place]
    furthest = max(one.lag_to(at) for at in range(len(inputs)) if at != place)
    return one.rate > 0 and furthest / one.rate >= DISK_TIMES * disk_seconds


def near(inputs: Sequence[InputFigures], place: int) -> int:
    """Return how many tuples of a leading input stay in memory: k_i + C + max r_i k_j / r_j."""
    return _kept("dbf", inputs, place)


def _kept(strategy: str, inputs: Sequence[InputFigures], place: int) -> int:
    one = inputs[place]
    others = [(at, each) for at, each in enumerate(inputs) if at != place]
    match strategy:
        case "plain":
            return max(kept_for(one, each, one.lag_to(at)) for at, each in others)
        case "msf":
            most = max(_sorted_settling(one, each) + one.lag_to(at) for at, each in others)
            return one.factor + max(1, math.ceil(one.multiplicity + most)) + MATCHING
        case "dbf":
            most = max(while_settling(one.rate, each) for _, each in others)
            return one.factor + math.ceil(most) + READ_AHEAD + MATCHING
        case _:
            most = max(_sorted_settling(one, each) for _, each in others)
            return one.factor + one.multiplicity + math.ceil(most) + READ_AHEAD + MATCHING


def _sorted_settling(one: InputFigures, other: InputFigures) -> float:
    """Return r_i Mul_j / r_j: what comes while a sorted input is through with a key."""
    return while_settling(one.rate, other, other.multiplicity)


def _seconds(strategy: str, inputs: Sequence[InputFigures]) -> float:
    """Return how long a row waits at most: for disk, and until k tuples have come behind it."""
    disk = DISK_SECONDS if strategy in ON_DISK else 0.0
    if strategy not in SORTING:
        return disk
    return disk + max(each.factor / each.rate if each.rate else 0.0 for each in inputs)
