"""How units are spread over processors at first: a file for each pattern (DCAPE-24)."""

from collections.abc import Callable, Sequence

from penstock.place.network import Network
from penstock.place.patterns.grouping import grouping
from penstock.place.patterns.least_cut import least_cut
from penstock.place.patterns.round_robin import round_robin
from penstock.place.placement import Placement
from penstock.place.processor import Processor

Pattern = Callable[[Network, Sequence[Processor]], Placement]

PATTERNS: dict[str, Pattern] = {
    "round_robin": round_robin,
    "grouping": grouping,
    "least_cut": least_cut,
}
