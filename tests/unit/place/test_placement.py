import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadOptionError
from penstock.place import Move, Network, NetworkUnit, Processor, faults_of, moves_between
from penstock.place.patterns.round_robin import round_robin
from penstock.place.placement import bytes_cut, connections_of, edges_cut, with_move
from tests.unit.place.networks import networks, processors

DIAMOND = Network.of(
    [
        NetworkUnit("a", ("s",), output_bytes=10),
        NetworkUnit("b", ("a",)),
        NetworkUnit("c", ("a",)),
        NetworkUnit("d", ("b", "c")),
    ],
    {"s": 100.0},
)


def test_an_output_goes_to_a_processor_once_whoever_reads_it_there() -> None:
    placement = {"a": "p", "b": "q", "c": "q", "d": "q"}
    assert bytes_cut(placement, DIAMOND) == 10
    assert edges_cut(placement, DIAMOND) == 2
    assert [each.name for each in connections_of(placement, DIAMOND)] == ["s", "a"]


def test_a_stream_costs_from_its_second_processor_on() -> None:
    network = Network.of([NetworkUnit("a", ("s",)), NetworkUnit("b", ("s",))], {"s": 7.0})
    assert bytes_cut({"a": "p", "b": "p"}, network) == 0
    assert bytes_cut({"a": "p", "b": "q"}, network) == 7


def test_what_reads_a_unit_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadOptionError):
        Network.of([NetworkUnit("a", ("b",)), NetworkUnit("b", ("s",))], {"s": 1.0})


def test_faults_name_units_that_are_missing_or_unknown_and_processors_that_are_silent() -> None:
    placement = {"a": "p", "b": "q", "c": "p", "x": "p"}
    assert faults_of(placement, DIAMOND, {"p"}) == (
        "unit d is on no processor",
        "there is no unit x",
        "processor q does not answer",
    )


@given(network=networks(), there=processors(), data=st.data())
def test_moves_lead_from_one_placement_to_the_other(
    network: Network, there: list[Processor], data: st.DataObject
) -> None:
    old = round_robin(network, there)
    names = st.sampled_from([each.name for each in there])
    new = {unit: data.draw(names) for unit in network.units}
    reached: dict[str, str] = dict(old)
    for move in moves_between(old, new):
        assert isinstance(move, Move)
        assert move.source != move.target
        reached = with_move(reached, move)
    assert reached == new
