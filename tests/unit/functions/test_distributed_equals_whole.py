import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.functions import (
    Dataflow,
    central,
    fft3,
    fft3_combine,
    fft3_part,
    hash_part,
    os_join,
    pcc,
    rr_part,
    s_merge,
    window_distribute,
    window_split,
)
from tests.examples import examples
from tests.unit.functions.worlds import (
    SIGNAL,
    assert_same,
    cuts,
    moments,
    ordered_times,
    radio,
    run_all,
)

DOUBLE = 1e-12
SINGLE = 1e-5  # of the greatest element: complex64 has 24 bits, a stage loses some of the last


@settings(max_examples=examples(40))
@given(ordered_times, st.data())
def test_window_distribute_gives_the_very_same_items(times: list[int], data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(0, 9), min_size=len(times), max_size=len(times)))
    items = radio(times, lengths)
    degree = data.draw(st.integers(1, 5))
    (whole,), _ = run_all(central(fft3), items)
    for flow in (window_distribute(degree, fft3), pcc(degree, hash_part("ts"), fft3, s_merge)):
        (got,), withheld = run_all(flow, items, data.draw(cuts(len(items))), kill=True)
        assert not withheld
        assert_same(got, whole)


@settings(max_examples=examples(40))
@given(ordered_times, st.sampled_from([1, 2, 3, 4, 8]), st.data())
def test_window_split_gives_the_same_spectra(
    times: list[int], degree: int, data: st.DataObject
) -> None:
    sizes = st.integers(0, 4).map(lambda n: n * degree)
    items = radio(times, data.draw(st.lists(sizes, min_size=len(times), max_size=len(times))))
    (whole,), _ = run_all(central(fft3), items)
    flow = pcc(degree, fft3_part, fft3, os_join(fft3_combine))
    (got,), withheld = run_all(flow, items, data.draw(cuts(len(items))), kill=True)
    assert not withheld
    assert_same(got, whole, SINGLE)


def test_more_than_a_cache_holds_is_worked_out_in_blocks() -> None:
    items = radio(range(512), 256)  # two full blocks
    (whole,), _ = run_all(central(fft3), items)
    np.testing.assert_allclose(whole["x"], np.fft.fft(items["x"]), atol=1e-4)
    (got,), _ = run_all(window_split(4, fft3), items, [150])
    assert_same(got, whole, SINGLE)


@pytest.mark.parametrize("degree", [2, 4, 8, 16])
def test_spectra_of_doubles_are_as_precise_as_doubles(degree: int) -> None:
    rng = np.random.default_rng(degree)
    items = SIGNAL(ts=moments(range(3)), v=rng.normal(size=(3, 4096)))
    (whole,), _ = run_all(central(fft3), items)
    (got,), _ = run_all(window_split(degree, fft3), items)
    assert_same(got, whole, DOUBLE)


def tree(*degrees: int) -> Dataflow:
    """Return a tree of window splits."""
    inner = fft3 if len(degrees) == 1 else tree(*degrees[1:])
    return pcc(degrees[0], fft3_part, inner, os_join(fft3_combine))


def rr_tree(*degrees: int) -> Dataflow:
    """Return a tree of window distributes."""
    inner = fft3 if len(degrees) == 1 else rr_tree(*degrees[1:])
    return pcc(degrees[0], rr_part, inner, s_merge)


@settings(max_examples=examples(40))
@given(ordered_times, st.sampled_from([(2, 2), (2, 3), (2, 2, 2)]), st.data())
def test_trees_give_the_same(
    times: list[int], degrees: tuple[int, ...], data: st.DataObject
) -> None:
    items = radio(times, 24)
    (whole,), _ = run_all(central(fft3), items)
    for flow, tolerance in ((tree(*degrees), SINGLE), (rr_tree(*degrees), 0.0)):
        (got,), withheld = run_all(flow, items, data.draw(cuts(len(items))))
        assert not withheld
        assert_same(got, whole, tolerance)


def test_a_length_that_cannot_be_split_is_held_and_the_rest_goes_on() -> None:
    items = radio([1, 2, 3], [8, 7, 8])
    (got,), withheld = run_all(window_split(2, fft3), items)
    assert got.times.tolist() == [1, 3]
    assert {(each.kind, each.function) for each in withheld} == {("held", "fft3_part")}
    assert {tuple(each.items.times.tolist()) for each in withheld} == {(2,)}
