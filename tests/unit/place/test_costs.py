"""Laws of all cost models, and what each says of a processor."""

import pytest
from hypothesis import given, settings

from penstock.place import COST_MODELS, Network, NetworkUnit, Processor, Statistics, UnitFigures
from penstock.place.costs.observed import Observed
from tests.examples import examples
from tests.unit.place.networks import observations

LINE = Network.of([NetworkUnit("a", ("s",)), NetworkUnit("b", ("a",))], {"s": 1.0})
THERE = [Processor("p", {"memory_bytes": 100}), Processor("q", {"memory_bytes": 100})]


@pytest.mark.parametrize("name", COST_MODELS)
@given(seen=observations())
@settings(deadline=None, max_examples=examples(100))
def test_costs_go_from_zero_to_one_and_units_share_them(name: str, seen: Observed) -> None:
    table = COST_MODELS[name](seen)
    assert set(table.processors) == {each.name for each in seen.processors}
    assert set(table.units) == set(seen.network.units)
    for processor, cost in table.processors.items():
        assert 0 <= cost <= 1
        shares = [table.units[unit] for unit in seen.units_on(processor)]
        assert all(share >= 0 for share in shares)
        if any(shares):
            assert sum(shares) == pytest.approx(cost)


def test_memory_is_what_is_kept_of_what_there_is() -> None:
    seen = _seen({"a": UnitFigures(kept_bytes=30), "b": UnitFigures(kept_bytes=50)})
    assert COST_MODELS["memory"](seen).processors == {"p": 0.3, "q": 0.5}


def test_a_processor_is_no_more_than_full() -> None:
    seen = _seen({"a": UnitFigures(busy=7.0), "b": UnitFigures(busy=0.5)})
    table = COST_MODELS["busy_time"](seen)
    assert table.processors == {"p": 1.0, "q": 0.5}
    assert table.difference == 0.5


def test_what_has_lost_half_of_its_best_output_is_half_full() -> None:
    seen = _seen({"a": UnitFigures(rows_out=50)}, best={"p": 100.0})
    table = COST_MODELS["output_rate"](seen)
    assert table.processors == {"p": 0.5, "q": 0.0}
    assert table.units == {"a": 0.5, "b": 0.0}


def test_output_that_stays_on_the_processor_costs_nothing() -> None:
    figures = {"a": UnitFigures(rows_out=90), "b": UnitFigures(rows_out=10)}
    seen = Observed(LINE, {"a": "p", "b": "p"}, THERE, Statistics(figures, {"p": 20.0}))
    assert COST_MODELS["output_rate"](seen).units == {"a": 0.0, "b": 0.5}


def _seen(units: dict[str, UnitFigures], best: dict[str, float] | None = None) -> Observed:
    return Observed(LINE, {"a": "p", "b": "q"}, THERE, Statistics(units, best or {}))
