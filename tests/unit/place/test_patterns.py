"""Laws of all patterns, and least cut against the optimum by brute force."""

import math
import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.place import PATTERNS, Network, NetworkUnit, Processor, faults_of
from penstock.place.patterns.least_cut import bounds_of, least_cut
from penstock.place.patterns.refinement import score_of
from penstock.place.placement import edges_cut
from tests.examples import examples
from tests.unit.place.networks import networks, processors

TWO = [Processor("p"), Processor("q")]


@pytest.mark.parametrize("name", PATTERNS)
@given(network=networks(), there=processors())
@settings(deadline=None, max_examples=examples(100))
def test_every_unit_is_on_one_processor_that_there_is(
    name: str, network: Network, there: list[Processor]
) -> None:
    placement = PATTERNS[name](network, there)
    assert faults_of(placement, network, {each.name for each in there}) == ()
    assert placement == PATTERNS[name](network, there)


@pytest.mark.parametrize("name", ["round_robin", "grouping"])
@given(network=networks(), there=processors())
@settings(deadline=None, max_examples=examples(100))
def test_no_processor_has_more_than_its_number_of_units(
    name: str, network: Network, there: list[Processor]
) -> None:
    placed = list(PATTERNS[name](network, there).values())
    assert max(map(placed.count, placed)) <= math.ceil(len(network.units) / len(there))


@given(network=networks(), there=processors())
@settings(deadline=None, max_examples=examples(100))
def test_least_cut_is_never_worse_than_the_others(network: Network, there: list[Processor]) -> None:
    bounds = bounds_of(network, there)
    scores = {
        name: score_of(network, bounds, each(network, there)) for name, each in PATTERNS.items()
    }
    assert all(_at_most(scores["least_cut"], other) for other in scores.values())


def test_least_cut_finds_the_optimum_of_small_networks_or_nearly_so() -> None:
    found, cuts = 0, []
    for seed in range(count := examples(200)):
        network, there = _drawn(seed)
        bounds = bounds_of(network, there)
        names = [each.name for each in there]
        best = min(
            score_of(network, bounds, dict(zip(network.units, each, strict=True)))
            for each in product(names, repeat=len(network.units))
        )
        score = score_of(network, bounds, least_cut(network, there))
        assert _at_most(best, score)
        found += _at_most(score, best)
        if math.isclose(score[0], best[0], abs_tol=1e-6) and best[1]:
            cuts.append(score[1] / best[1])
    assert found >= 0.9 * count
    assert sum(cuts) / len(cuts) <= 1.1


def test_grouping_takes_a_whole_subtree_where_round_robin_cuts_it() -> None:
    """Two trees of three over two processors: each gets one."""
    units = [NetworkUnit(f"{tree}{n}", ("s",)) for tree in "xy" for n in (1, 2)]
    units += [NetworkUnit(f"{tree}3", (f"{tree}1", f"{tree}2")) for tree in "xy"]
    network = Network.of(units, {"s": 1.0})
    assert edges_cut(PATTERNS["grouping"](network, TWO), network) == 0
    assert edges_cut(PATTERNS["round_robin"](network, TWO), network) > 0


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=examples(100))
def test_grouping_cuts_fewer_edges_of_trees_than_round_robin_does(seed: int) -> None:
    """On the mean of some trees; of a single one it may cut more."""
    cut = dict.fromkeys(("grouping", "round_robin"), 0)
    for place in range(10):
        network, there = _trees(seed * 10 + place)
        for name in cut:
            cut[name] += edges_cut(PATTERNS[name](network, there), network)
    assert cut["grouping"] < cut["round_robin"]


def test_a_faster_processor_gets_more_of_the_work() -> None:
    network = Network.of([NetworkUnit(f"u{n}", ("s",), 1.0, 0.0) for n in range(6)], {"s": 0.0})
    there = [Processor("slow"), Processor("fast", {"cores": 2})]
    assert list(least_cut(network, there).values()).count("fast") == 4


def _at_most(one: tuple[float, float], other: tuple[float, float]) -> bool:
    if not math.isclose(one[0], other[0], abs_tol=1e-6):
        return one[0] < other[0]
    return one[1] <= other[1] + 1e-6


def _drawn(seed: int) -> tuple[Network, list[Processor]]:
    drawn = random.Random(seed)
    units: list[NetworkUnit] = []
    for place in range(drawn.randint(3, 7)):
        there = ["s0", "s1", *(unit.name for unit in units)]
        inputs = tuple({drawn.choice(there) for _ in range(drawn.choice([1, 1, 2]))})
        load, size = drawn.uniform(0.1, 1), drawn.uniform(1, 100)
        units.append(NetworkUnit(f"u{place}", tuple(sorted(inputs)), load, size))
    streams = {name: drawn.uniform(1, 100) for name in ("s0", "s1")}
    return Network.of(units, streams), [Processor(f"p{n}") for n in range(drawn.choice([2, 3]))]


def _trees(seed: int) -> tuple[Network, list[Processor]]:
    """Return one to four binary trees over one to six processors."""
    drawn = random.Random(seed)
    units: list[NetworkUnit] = []
    for tree in range(drawn.randint(1, 4)):
        open_: list[str] = []
        for place in range(drawn.randint(4, 25)):
            below = open_[: drawn.choice([0, 1, 2])]
            open_ = open_[len(below) :]
            name = f"t{tree}u{place}"
            units.append(NetworkUnit(name, tuple(below) or ("s",)))
            open_.append(name)
    return Network.of(units, {"s": 1.0}), [Processor(f"p{n}") for n in range(drawn.randint(2, 6))]
