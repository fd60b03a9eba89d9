"""Networks, processors and situations for the laws of placing."""

from hypothesis import strategies as st

from penstock.place import CostTable, Network, NetworkUnit, Processor, Statistics, UnitFigures
from penstock.place.costs.observed import Observed
from penstock.place.situation import Limits, Situation

AMOUNTS = st.sampled_from([0.0, 0.1, 0.25, 1.0, 3.0])


@st.composite
def networks(draw: st.DrawFn, most: int = 12) -> Network:
    """Return trees, diamonds and lone units over up to three streams, also of no cost at all."""
    streams = {f"s{place}": draw(AMOUNTS) for place in range(draw(st.integers(1, 3)))}
    units: list[NetworkUnit] = []
    for place in range(draw(st.integers(1, most))):
        there = [*streams, *(unit.name for unit in units)]
        inputs = draw(st.lists(st.sampled_from(there), min_size=1, max_size=3, unique=True))
        units.append(NetworkUnit(f"u{place}", tuple(inputs), draw(AMOUNTS), draw(AMOUNTS)))
    return Network.of(units, streams)


@st.composite
def processors(draw: st.DrawFn, most: int = 4) -> list[Processor]:
    """Return one to four processors, some of them twice as fast."""
    count = draw(st.integers(1, most))
    return [
        Processor(f"p{place}", {"cores": draw(st.sampled_from([1, 2])), "memory_bytes": 100})
        for place in range(count)
    ]


@st.composite
def observations(draw: st.DrawFn) -> Observed:
    """Return any units on any processors, with any figures; of some there are none."""
    network, there = draw(networks()), draw(processors())
    names = st.sampled_from([each.name for each in there])
    figures = st.builds(UnitFigures, AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS)
    units = {name: draw(figures) for name in network.units if draw(st.booleans())}
    best = {each.name: draw(AMOUNTS) for each in there if draw(st.booleans())}
    placement = {name: draw(names) for name in network.units}
    return Observed(network, placement, there, Statistics(units, best))


def situation_of(seen: Observed, costs: CostTable, limits: Limits | None = None) -> Situation:
    """Return a situation in which every processor was idle when its units last changed."""
    idle = {each.name: 0.0 for each in seen.processors}
    return Situation(
        seen.network,
        seen.placement,
        seen.processors,
        seen.statistics,
        costs,
        idle,
        limits or Limits(),
    )
