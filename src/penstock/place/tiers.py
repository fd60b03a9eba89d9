"""Tiers: units are spread over sites first, then inside each site by its own coordinator.

A coordinator may so be a processor of another (DCAPE-39): the upper one knows a site by what all of
its processors can do, and nothing of what happens inside.
"""

from collections.abc import Mapping, Sequence

from penstock.place.network import Network
from penstock.place.patterns import Pattern
from penstock.place.placement import Placement
from penstock.place.processor import CORES, MEMORY, Processor

Sites = Mapping[str, Sequence[Processor]]


def spread_in_tiers(network: Network, sites: Sites, pattern: Pattern) -> dict[str, str]:
    """Return the placement that a pattern gives when each tier asks it by itself."""
    upper = pattern(network, [as_processor(name, there) for name, there in sites.items()])
    found: dict[str, str] = {}
    for site, there in sites.items():
        inside = _inside(network, upper, site)
        if inside.units:
            found |= pattern(inside, there)
    return found


def as_processor(site: str, processors: Sequence[Processor]) -> Processor:
    """Return a site as the tier above it sees it."""
    capacity = sum(each.capacity for each in processors)
    memory = sum(each.memory_bytes for each in processors)
    return Processor(site, {CORES: capacity, MEMORY: memory})


def _inside(network: Network, upper: Placement, site: str) -> Network:
    """Return the units of a site; what they read from outside comes in like a stream."""
    units = {name: unit for name, unit in network.units.items() if upper[name] == site}
    outside = {each for unit in units.values() for each in unit.inputs} - set(units)
    streams = {
        each: network.streams[each] if each in network.streams else network.units[each].output_bytes
        for each in sorted(outside)
    }
    return Network(units, streams)
