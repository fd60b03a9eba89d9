"""The simulated cluster: nothing is lost, and it does what the closed forms say."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.place import COST_MODELS, PATTERNS, Limits, Move, Redistribution
from penstock.place.policies.gain import Gain
from penstock.sim.distribution.operator_plan import PLANS
from penstock.sim.distribution.processor_costs import ProcessorCosts
from penstock.sim.distribution.simulation import (
    Setting,
    network_of,
    processors_of,
    simulate_cluster,
)
from tests.examples import examples

# Nothing costs anything: what comes out is what the selectivities make of what comes in.
FREE = ProcessorCosts(queue=0, single=0, pair=0, purge=0, network=0, connection=0, collection=0)


def setting(
    plan: str, window: float, count: int, pattern: str, costs: ProcessorCosts = FREE
) -> Setting:
    processors = processors_of(count, costs)
    network = network_of(PLANS[plan], window, costs)
    return Setting(PLANS[plan], window, PATTERNS[pattern](network, processors), processors, costs)


@pytest.mark.parametrize(
    ("plan", "operators", "joins", "streams", "depth", "results"),
    [
        ("plan 1", 5, 0, 1, 5, 1),
        ("plan 1, joins", 5, 5, 6, 5, 1),
        ("plan 2", 20, 5, 6, 9, 1),
        ("plan 3", 40, 7, 8, 14, 1),
        ("plan 4", 80, 14, 16, 14, 2),
    ],
)
def test_plans_have_the_sizes_of_the_thesis(
    plan: str, operators: int, joins: int, streams: int, depth: int, results: int
) -> None:
    found = PLANS[plan]
    assert len(found.operators) == operators
    assert sum(each.is_join for each in found.operators) == joins
    assert len(found.streams) == streams
    assert found.depth == depth
    assert len(found.roots) == results


@given(
    plan=st.sampled_from(sorted(PLANS)),
    count=st.integers(1, 5),
    pattern=st.sampled_from(sorted(PATTERNS)),
    moves=st.lists(
        st.tuples(st.integers(1, 30), st.integers(0, 79), st.integers(0, 4)), max_size=5
    ),
)
@settings(deadline=None, max_examples=examples(100))
def test_nothing_is_lost_or_doubled_wherever_units_are_and_move(
    plan: str, count: int, pattern: str, moves: list[tuple[int, int, int]]
) -> None:
    costs = replace(FREE, pause_seconds=0.0, carried_bytes=1e15)
    free = setting(plan, 10.0, count, pattern, costs)
    names = [each.name for each in free.plan.operators]

    def forced(now: float, placement: dict[str, str]) -> tuple[Move, ...]:
        found = []
        for at, unit, to in moves:
            name, target = names[unit % len(names)], free.processors[to % count].name
            if at == now and placement[name] != target:
                found.append(Move(name, placement[name], target))
        return tuple(found[:1])

    found = simulate_cluster(replace(free, forced=forced), 60.0)
    still = simulate_cluster(setting(plan, 10.0, 1, pattern), 60.0)
    # A move makes a unit wait for a step, and what waits there comes out later, all of it.
    rate = sum(free.plan.rates(40.0, 2.0)[root] for root in free.plan.roots)
    assert found.throughput == pytest.approx(still.throughput, abs=1e-6 * rate)


def test_what_keeps_up_gives_what_the_rates_say() -> None:
    setting_ = setting("plan 2", 10.0, 3, "grouping", ProcessorCosts())
    found = simulate_cluster(setting_, 600.0)
    assert found.between(0.5, 1.0) / 300 == pytest.approx(1600, rel=0.01)
    assert found.died_at is None


def test_one_that_cannot_keep_up_fills_its_memory_and_dies() -> None:
    few = ProcessorCosts(tuples=50_000)
    found = simulate_cluster(setting("plan 4", 10.0, 1, "grouping", few), 600.0)
    assert found.died_at is not None
    assert found.delivered[round(found.died_at) - 1 :] == [found.throughput] * round(
        601 - found.died_at
    )


def test_a_processor_with_all_the_load_gives_some_of_it_away() -> None:
    start = setting("plan 2", 10.0, 3, "grouping", ProcessorCosts())
    heap = replace(start, placement=dict.fromkeys(start.placement, "processor 1"))
    gain = Gain(byte_seconds=1e-6, connection_seconds=0.01)  # what they take in the simulation
    decides = Redistribution(COST_MODELS["busy_time"], gain, Limits(difference=0.0))
    still = simulate_cluster(heap, 600.0)
    found = simulate_cluster(replace(heap, redistribution=decides), 600.0)
    assert found.moves > 0
    assert found.decisions <= 10
    assert found.between(0.5, 1.0) > still.between(0.5, 1.0)
    assert sum(found.sent) > sum(still.sent)
