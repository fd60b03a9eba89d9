from dataclasses import replace

from penstock.qos.contracts.contracts import Contract, Sampling
from penstock.qos.contracts.keeper import Keeper
from penstock.qos.contracts.suspension import Promised
from penstock.qos.load.load import load_of
from penstock.qos.load.moment import LoadSample, Measures
from penstock.qos.load.network import Network
from penstock.qos.shedding.allocation import Limit
from penstock.sim.policies import ByContracts
from tests.unit.qos.networks import two_paths

CONTRACTS = {"a": Contract(2.0, 0.0, 10.0), "b": Contract(2.0, 0.9, 0.5)}
FIRM = {**CONTRACTS, "b": Contract(2.0, 0.5, 0.5)}  # what must be done of both is too much at 300


def seconds(
    keeper: ByContracts, rates: list[float], network: Network | None = None, start: int = 0
) -> list[Measures]:
    """Return the measures of each second at some rates; what is more than can be done waits."""
    found, waits = [Measures()], 0.0
    for number, rate in enumerate(rates, start):
        if network is not None:
            keeper.adopt(network, CONTRACTS, {})
        running = network or two_paths()
        left = replace(running.without(found[-1].suspended), rates={"s": rate})
        waits = max(0.0, waits + rate * (1 - 1 / load_of(left, found[-1].keeps)[""]))
        sample = LoadSample({"s": rate}, {("s", "leaf0"): waits})
        found.append(keeper.decide(sample, float(number)))
    return found[1:]


def test_a_keeper_sheds_for_those_who_may_lose_and_stops_when_the_load_is_gone() -> None:
    found = seconds(
        ByContracts(two_paths(), CONTRACTS, {}), [150.0] * 3 + [280.0] * 6 + [50.0] * 12
    )
    assert not found[0].keeps
    assert found[8].keeps.keys() == {("leaf0", "b0")}
    network = replace(two_paths(), rates={"s": 280.0})
    assert load_of(network, found[8].keeps)[""] <= 1.0
    assert not found[-1].keeps


def test_what_nobody_may_lose_is_suspended_by_weight_and_comes_back() -> None:
    found = seconds(ByContracts(two_paths(), FIRM, {}), [300.0] * 12 + [50.0] * 30)
    assert found[11].suspended == {"b"}
    assert not found[-1].suspended


def test_an_aggregate_gives_up_by_what_its_windows_have() -> None:
    contracts = {"a": CONTRACTS["a"], "b": Contract(2.0, 0.1)}
    few = ByContracts(two_paths(), contracts, {"b": ("s", Sampling(rows=0.05))})
    many = ByContracts(two_paths(), contracts, {"b": ("s", Sampling(rows=50.0))})
    assert seconds(few, [260.0] * 2)[-1].keeps["leaf0", "b0"] > 0.95
    assert seconds(many, [260.0] * 2)[-1].keeps["leaf0", "b0"] < 0.5


def test_figures_that_are_measured_anew_change_nothing_that_was_known_of_rates() -> None:
    rates = [150.0] * 3 + [280.0] * 6
    one = seconds(ByContracts(two_paths(), CONTRACTS, {}), rates)
    other = seconds(ByContracts(two_paths(), CONTRACTS, {}), rates, two_paths())
    assert one == other


def test_queries_that_are_gone_are_no_longer_suspended_nor_shed() -> None:
    keeper = ByContracts(two_paths(), FIRM, {})
    assert seconds(keeper, [300.0] * 12)[-1].suspended == {"b"}
    alone = two_paths().without(frozenset("b"))
    assert seconds(keeper, [300.0], alone, start=12)[-1] == Measures()


def test_what_could_not_be_shed_is_forgotten_when_it_is_not_too_much_any_more() -> None:
    keeper = Keeper()
    for second, rate in enumerate([600.0] * 6 + [50.0] * 12):
        keeper.see({"s": rate}, float(second))
        keeper.adopt(two_paths())
        keeper.look(LoadSample({"s": rate}, {}), Promised({"leaf0": 1.0}))
        keeper.shed({"a": Limit(0.0), "b": Limit(0.0)}, float(second))
        if second == 5:
            assert keeper.is_short
    assert not keeper.is_short
