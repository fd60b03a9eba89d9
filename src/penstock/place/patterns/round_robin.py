"""Round robin: each unit to the processor that has the fewest (DCAPE-25, Algorithm 2)."""

from collections.abc import Sequence

from penstock.place.network import Network
from penstock.place.processor import Processor


def round_robin(network: Network, processors: Sequence[Processor]) -> dict[str, str]:
    """Return a placement of equal numbers of units, whatever they cost and send."""
    names = [each.name for each in processors]
    return {unit: names[place % len(names)] for place, unit in enumerate(network.units)}
