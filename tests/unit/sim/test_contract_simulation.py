"""Contracts in the simulator: what is foreseen comes, what is promised is kept, replays agree."""

import numpy as np
import pytest

from penstock.qos.load.forecast import Forecast
from penstock.qos.load.load import Outlook
from penstock.qos.load.moment import LoadSample, Measures
from penstock.schedule import make_strategy
from penstock.sim import Machine, simulate
from penstock.sim.contract_simulation import GRACE_SECONDS, Story, simulate_contracts
from penstock.sim.judgment import judged
from penstock.sim.policies import ByContracts, Nothing, Policy
from penstock.sim.workloads.arrivals import Times, constant
from penstock.sim.workloads.scene import RATE, STREAMS, ContractScene, mixed_scene, scene

SECONDS = 40.0
TIGHTEST = 1.0  # of the scene's contracts


class Watching:
    """Does nothing, and remembers how the processor stood."""

    def __init__(self, network_of: ContractScene) -> None:
        self._forecast = Forecast(network_of.network)
        self.seen: list[tuple[float, Outlook]] = []

    def decide(self, seen: LoadSample, now: float) -> Measures:
        self._forecast.see(seen.rates, now)
        self.seen.append((now, self._forecast.outlooks(seen)[""]))
        return Measures()


def growing(first: float, last: float) -> Times:
    """Return tuples whose rate grows evenly from one load to another."""
    low, high = first * RATE, last * RATE
    numbers = np.arange((low + high) / 2 * SECONDS)
    slope = (high - low) / SECONDS
    return (np.sqrt(low**2 + 2 * slope * numbers) - low) / slope


def run(of: ContractScene, policy: Policy, strategy: str = "earliest_deadline") -> Story:
    return simulate_contracts(of, policy, make_strategy(strategy))


def keeping(of: ContractScene) -> ByContracts:
    return ByContracts(of.network, of.contracts, of.samplings)


def broken_at(story: Story) -> float:
    """Return when the first tuple came that waited longer than the tightest contract allows."""
    late = [
        at
        for got in story.delivered.values()
        for at, latency in zip(got.arrived, got.latency, strict=True)
        if latency > TIGHTEST
    ]
    return min(late, default=float("inf"))


def test_overload_is_seen_before_latency_breaks() -> None:
    ramp = scene(dict.fromkeys(range(STREAMS), growing(0.5, 2.0)), SECONDS)
    watching = Watching(ramp)
    story = run(ramp, watching, "round_robin")
    foreseen = next(at for at, each in watching.seen if max(each.load, each.ahead) > 1)
    # Capacity is reached after 13.3 s; the rate grows by 3.75 % of it each second.
    assert 10.5 < foreseen < 13.3
    assert foreseen + 2 < broken_at(story) < SECONDS
    soon = next(at for at, each in watching.seen if each.breaks_in(TIGHTEST) < 2)
    assert soon < broken_at(story) < soon + 5


@pytest.mark.parametrize("load", [0.6, 0.9])
def test_below_capacity_nothing_is_foreseen_and_nothing_breaks(load: float) -> None:
    calm = mixed_scene("constant", load, SECONDS, 1)
    watching = Watching(calm)
    story = run(calm, watching, "round_robin")
    assert all(each.breaks_in(TIGHTEST) == float("inf") for _, each in watching.seen)
    assert broken_at(story) == float("inf")


@pytest.mark.parametrize("load", [1.2, 2.0])
def test_past_capacity_it_breaks_when_it_was_said_to(load: float) -> None:
    over = scene(dict.fromkeys(range(STREAMS), constant(RATE * load, SECONDS)), SECONDS)
    watching = Watching(over)
    story = run(over, watching, "round_robin")
    at, outlook = watching.seen[2]
    assert at + outlook.breaks_in(TIGHTEST) == pytest.approx(broken_at(story), abs=1.5)


def test_without_gates_it_is_the_simulation_that_it_was() -> None:
    plain = mixed_scene("b-model", 0.9, 10.0, 3)
    machine = Machine(until=10.0 + GRACE_SECONDS)
    one = simulate_contracts(plain, Nothing(), make_strategy("round_robin"), machine).outcome
    other = simulate(plain.workload, make_strategy("round_robin"), machine)
    assert one.delivered == pytest.approx(other.delivered)
    assert one.total_latency == pytest.approx(other.total_latency)
    assert one.peak_bytes == pytest.approx(other.peak_bytes)


def test_a_replay_sheds_the_same() -> None:
    busy = mixed_scene("bursty", 2.0, SECONDS, 2)
    one, other = run(busy, keeping(busy)), run(busy, keeping(busy))
    assert one.measures == other.measures
    assert any(measures.keeps for _, _, measures in one.measures)


@pytest.mark.parametrize("traffic", ["constant", "bursty", "b-model"])
def test_at_twice_the_capacity_latency_and_error_are_kept(traffic: str) -> None:
    busy = mixed_scene(traffic, 2.0, SECONDS, 1)
    story = run(busy, keeping(busy))
    for query, contract in busy.contracts.items():
        found = judged(busy, story, query, 1)
        assert found.verdict.p99 <= contract.max_latency
        assert found.suspended == 0
        if query not in busy.samplings:  # of aggregates a window in twenty may be off
            assert found.within_error == 1
        assert found.within_error >= 0.75


def test_gates_are_gone_when_the_burst_is() -> None:
    calm, burst = constant(RATE * 0.4, SECONDS), 5 + constant(RATE * 3, 5.0)
    times = np.concatenate([calm[calm < 5], burst, calm[calm >= 10]])
    once = scene(dict.fromkeys(range(STREAMS), times), SECONDS)
    story = run(once, keeping(once))
    shedding = [at for at, _, measures in story.measures if measures.keeps]
    assert 5 <= shedding[0] <= 6.5
    assert shedding[-1] < 25
    assert not story.measures[-1][2].suspended


@pytest.mark.parametrize("traffic", ["bursty", "b-model"])
def test_at_four_times_the_capacity_latency_is_kept(traffic: str) -> None:
    busy = mixed_scene(traffic, 4.0, SECONDS, 2)
    story = run(busy, keeping(busy))
    for query, contract in busy.contracts.items():
        assert judged(busy, story, query, 2).verdict.p99 <= contract.max_latency


def test_what_waits_is_thinned_with_its_gate_and_goes_with_its_query() -> None:
    class Late:
        """Lets everything wait for ten seconds."""

        def __init__(self, then: Measures) -> None:
            self._then = then

        def decide(self, seen: LoadSample, now: float) -> Measures:
            return self._then if now > 10 else Measures()

    over = scene(dict.fromkeys(range(STREAMS), constant(RATE * 4, 10.0)), 10.0)
    edges = {edge: 0.1 for edge in over.network.arriving if edge[0] in over.network.rates}
    thinned = run(over, Late(Measures(edges)))
    assert min(min(got.keep) for got in thinned.delivered.values()) == pytest.approx(0.1)
    gone = run(over, Late(Measures(suspended=frozenset(over.contracts))))
    assert gone.outcome.busy_seconds < 0.6 * run(over, Nothing()).outcome.busy_seconds
