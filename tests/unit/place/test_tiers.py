import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.place import PATTERNS, Network, Processor, faults_of
from penstock.place.tiers import as_processor, spread_in_tiers
from tests.examples import examples
from tests.unit.place.networks import networks


@pytest.mark.parametrize("name", PATTERNS)
@given(network=networks(), sizes=st.lists(st.integers(1, 3), min_size=1, max_size=3))
@settings(deadline=None, max_examples=examples(100))
def test_every_unit_is_on_a_processor_of_the_site_that_it_was_given(
    name: str, network: Network, sizes: list[int]
) -> None:
    sites = {
        f"site {place}": [Processor(f"{place}.{n}") for n in range(size)]
        for place, size in enumerate(sizes)
    }
    placement = spread_in_tiers(network, sites, PATTERNS[name])
    everybody = {each.name for there in sites.values() for each in there}
    assert faults_of(placement, network, everybody) == ()
    upper = PATTERNS[name](network, [as_processor(site, there) for site, there in sites.items()])
    site_of = {each.name: site for site, there in sites.items() for each in there}
    assert {unit: site_of[there] for unit, there in placement.items()} == upper


def test_a_site_can_do_what_all_of_its_processors_can() -> None:
    fast = Processor("b", {"cores": 4, "memory_bytes": 200})
    site = as_processor("east", [Processor("a", {"memory_bytes": 100}), fast])
    assert site.capacity == 5
    assert site.memory_bytes == 300
