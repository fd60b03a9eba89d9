from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from penstock.qos.load.utilization import TimeShares

shares = st.floats(0.0, 1.0)
named = st.dictionaries(st.sampled_from("abcdef"), shares)
some = st.builds(TimeShares, named, named, shares)


@given(some, st.integers(1, 16))
def test_no_part_is_busier_than_the_busiest(times: TimeShares, slots: int) -> None:
    found = times.utilization(slots)
    alone = [*times.units.values(), *times.sources.values(), times.supervisor]
    together = sum(times.units.values()) / slots
    assert all(found >= each for each in (*alone, together))
    assert found in (*alone, together)


@given(some, st.sampled_from(["units", "sources"]), shares, st.integers(1, 16))
def test_more_work_never_makes_less_load(
    times: TimeShares, where: str, more: float, slots: int
) -> None:
    added = replace(times, **{where: {**getattr(times, where), "new": more}})
    assert added.utilization(slots) >= times.utilization(slots) >= times.utilization(slots + 1)


def test_one_unit_has_one_slot_however_many_there_are() -> None:
    assert TimeShares({"a": 0.9}).utilization(2) == 0.9
    assert TimeShares({"a": 0.6, "b": 0.6, "c": 0.6}, {"s": 0.2}, 0.1).utilization(2) > 0.89
    assert TimeShares({"a": 0.3}, {"s": 0.7}, 0.1).utilization(2) == 0.7
    assert TimeShares().utilization(4) == 0.0
