"""Which units move when costs are far apart: a file for each policy."""

from collections.abc import Callable, Iterator

from penstock.place.placement import Placement
from penstock.place.policies.balance import balance
from penstock.place.policies.degradation import degradation
from penstock.place.policies.gain import gain
from penstock.place.situation import Situation

Policy = Callable[[Situation], Iterator[Placement]]  # placements to try, best first

POLICIES: dict[str, Policy] = {"balance": balance, "degradation": degradation, "gain": gain}
