from dataclasses import replace

from penstock.qos.contracts.admission import (
    Admitted,
    ProposedPlan,
    Refused,
    Room,
    admission,
    least_latency,
)
from penstock.qos.contracts.contracts import Contract
from penstock.qos.load.network import Network
from tests.unit.qos.networks import line, two_paths

SHARED = {"s": 200.0}


def at_rate(rate: float) -> Network:
    return replace(two_paths(), rates={"s": rate})


def plans(rate: float) -> tuple[ProposedPlan, ProposedPlan]:
    """Return the plan of `a` alone, and with `b` that shares the leaf."""
    both = at_rate(rate)
    return ProposedPlan(both.without(frozenset("b"))), ProposedPlan(both)


def test_a_query_that_fits_comes_in_and_pays_only_for_what_it_does_not_share() -> None:
    before, after = plans(100.0)
    found = admission("b", before, after, {})
    assert isinstance(found, Admitted)
    assert abs(found.adds_load - 0.2) < 1e-9  # 0.3 by itself, less the shared 0.1
    assert abs(found.left_load - 0.4) < 1e-9


def test_a_query_that_does_not_fit_is_refused_with_the_figures() -> None:
    before, after = plans(190.0)
    found = admission("b", before, after, {})
    assert isinstance(found, Refused)
    error = found.error("b")
    assert error.code == "BAD_OPTION"
    assert "adds a load of 0.38 where 0.33 is left" in error.message
    assert "the processor would have a load of 0.95, at most 0.90" in error.message
    assert "OR WAIT" in error.hint


def test_who_has_room_alone_may_wait_and_others_may_not() -> None:
    few, many = (admission("b", *plans(rate), {}) for rate in (190.0, 400.0))
    assert isinstance(few, Refused)
    assert isinstance(many, Refused)
    assert (few.may_wait, many.may_wait) == (True, False)


def test_the_contract_that_would_break_is_named() -> None:
    before, after = plans(150.0)
    alone = admission("b", before, after, {})
    assert isinstance(alone, Admitted)
    limit = alone.estimate.tail("a") * 0.99
    found = admission("b", before, after, {"a": Contract(limit)})
    assert isinstance(found, Refused)
    assert [each.whose for each in found.shortages] == ["a"]
    assert "its max_latency is" in found.error("b").message


def test_a_contract_that_is_broken_already_is_not_held_against_another() -> None:
    found = admission("b", *plans(150.0), {"a": Contract(1e-6)})
    assert isinstance(found, Admitted)


def test_memory_is_asked_for_too() -> None:
    before, after = plans(100.0)
    between = (before.estimate().memory_bytes + after.estimate().memory_bytes) / 2
    found = admission("b", before, after, {}, Room(memory_bytes=between))
    assert isinstance(found, Refused)
    assert [each.what for each in found.shortages] == ["memory"]
    assert f"room for {between:,.0f}" in found.text()
    least = Room(memory_bytes=1.0)  # who is too much already is not held against the newcomer
    assert isinstance(admission("b", before, after, {}, least), Admitted)


def test_one_unit_that_a_slot_cannot_do_is_refused_however_many_slots_there_are() -> None:
    nodes = line("a", "s", [(0.02, 1.0)])
    after = ProposedPlan(Network(nodes, {"s": 100.0}, {"a": "a0"}, {"": 8}))
    before = ProposedPlan(Network({}, {"s": 100.0}, {}, {"": 8}))
    found = admission("a", before, after, {})
    assert isinstance(found, Refused)
    assert "one slot" in found.error("a").message


def test_a_query_s_own_latency_is_that_of_its_units_while_nothing_else_is_to_do() -> None:
    network = replace(two_paths(), run_seconds=0.05)
    own = 3 * 0.05 + 0.001 + 0.5 * 0.002 + 0.1 * 0.01
    assert abs(least_latency(ProposedPlan(network), "a") - own) < 1e-6
