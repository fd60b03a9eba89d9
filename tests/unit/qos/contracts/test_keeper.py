from dataclasses import replace

from penstock.qos.contracts.contracts import Contract, Sampling
from penstock.qos.contracts.keeper import Keeper
from penstock.qos.load.load import load_of
from penstock.qos.load.moment import LoadSample, Measures
from penstock.qos.load.network import Network
from tests.unit.qos.networks import two_paths

CONTRACTS = {"a": Contract(2.0, 0.0, 10.0), "b": Contract(2.0, 0.9, 0.5)}


def seconds(
    keeper: Keeper, rates: list[float], network: Network | None = None, start: int = 0
) -> list[Measures]:
    """Return the measures of each second at some rates of the stream."""
    found = []
    for number, rate in enumerate(rates, start):
        if network is not None:
            keeper.adopt(network, CONTRACTS, {})
        found.append(keeper.decide(LoadSample({"s": rate}, {}), float(number)))
    return found


def test_a_keeper_sheds_for_those_who_may_lose_and_stops_when_the_load_is_gone() -> None:
    found = seconds(Keeper(two_paths(), CONTRACTS, {}), [150.0] * 3 + [280.0] * 6 + [50.0] * 12)
    assert not found[0].keeps
    assert found[8].keeps.keys() == {("leaf0", "b0")}
    network = replace(two_paths(), rates={"s": 280.0})
    assert load_of(network, found[8].keeps)[""] <= 1.0
    assert not found[-1].keeps


def test_what_nobody_may_lose_is_suspended_by_weight_and_comes_back() -> None:
    found = seconds(Keeper(two_paths(), CONTRACTS, {}), [300.0] * 6 + [50.0] * 20)
    assert found[5].suspended == {"b"}
    assert not found[-1].suspended


def test_an_aggregate_gives_up_by_what_its_windows_have() -> None:
    contracts = {"a": CONTRACTS["a"], "b": Contract(2.0, 0.1)}
    few = Keeper(two_paths(), contracts, {"b": ("s", Sampling(rows=0.05))})
    many = Keeper(two_paths(), contracts, {"b": ("s", Sampling(rows=50.0))})
    assert seconds(few, [260.0] * 2)[-1].keeps["leaf0", "b0"] > 0.95
    assert seconds(many, [260.0] * 2)[-1].keeps["leaf0", "b0"] < 0.5


def test_figures_that_are_measured_anew_change_nothing_that_was_known_of_rates() -> None:
    rates = [150.0] * 3 + [280.0] * 6
    one = seconds(Keeper(two_paths(), CONTRACTS, {}), rates)
    other = seconds(Keeper(two_paths(), CONTRACTS, {}), rates, two_paths())
    assert one == other


def test_queries_that_are_gone_are_no_longer_suspended_nor_shed() -> None:
    keeper = Keeper(two_paths(), CONTRACTS, {})
    assert seconds(keeper, [300.0] * 6)[-1].suspended == {"b"}
    alone = two_paths().without(frozenset("b"))
    assert seconds(keeper, [300.0], alone, start=6)[-1] == Measures()
