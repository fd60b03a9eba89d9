import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.functions import (
    Items,
    StreamType,
    central,
    convolve,
    matmul,
    sort,
    window_distribute,
    window_split,
)
from penstock.model.schema import Column
from tests.unit.functions.worlds import SIGNAL, assert_same, cuts, moments, radio, run_all

MATRICES = StreamType(
    "matrices",
    (Column("ts", "timestamp"), Column("a", "double vector"), Column("b", "double vector")),
    "ts",
)
DOUBLE = 1e-12  # of the greatest element: sums are in another order


@st.composite
def signals(draw: st.DrawFn) -> Items:
    sizes = draw(st.lists(st.integers(0, 12), max_size=6))
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    vectors = [rng.integers(-5, 5, size).astype(np.float64) for size in sizes]
    for vector in vectors:
        vector[rng.random(len(vector)) < 0.1] = draw(st.sampled_from([np.inf, np.nan, 0.0]))
    return SIGNAL(ts=moments(list(range(len(sizes)))), v=vectors)


@given(signals(), st.integers(1, 5), st.data())
def test_sorting_in_parts_is_sorting(items: Items, n: int, data: st.DataObject) -> None:
    (whole,), _ = run_all(central(sort), items)
    for row, given_row in zip(whole.vectors("v").each(), items.vectors("v").each(), strict=True):
        np.testing.assert_array_equal(row, np.sort(given_row))
    for flow in (window_split(n, sort), window_distribute(n, sort)):
        (got,), withheld = run_all(flow, items, data.draw(cuts(len(items))))
        assert not withheld
        assert_same(got, whole)


@given(
    st.lists(st.integers(0, 40), max_size=6),
    st.integers(1, 5),
    st.lists(st.floats(-2, 2, width=32), min_size=1, max_size=4),
    st.sampled_from([1, 20]),
)
def test_convolving_in_parts_is_convolving(
    sizes: list[int], n: int, weights: list[float], repeat: int
) -> None:
    kernel = tuple(weights * repeat)
    rng = np.random.default_rng(1)
    vectors = [rng.normal(size=size) for size in sizes]
    items = SIGNAL(ts=moments(list(range(len(sizes)))), v=vectors)
    (whole,), _ = run_all(central(convolve(kernel)), items)
    scale = sum(map(abs, kernel)) * 5
    for row, given_row in zip(whole.vectors("v").each(), vectors, strict=True):
        expected = np.convolve(given_row, kernel) if len(given_row) else given_row
        assert len(row) == len(expected)
        np.testing.assert_allclose(row, expected, atol=DOUBLE * max(1.0, scale))
    (got,), withheld = run_all(window_split(n, convolve(kernel)), items)
    assert not withheld
    for ours, theirs in zip(got.vectors("v").each(), whole.vectors("v").each(), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=DOUBLE * max(1.0, scale))


def test_complex_vectors_are_convolved() -> None:
    for kernel in ((1.0, 2.0), tuple(float(tap) for tap in range(40))):
        items = radio([1], 8)
        (got,), _ = run_all(window_split(2, convolve(kernel)), items)
        expected = np.convolve(items["x"][0], kernel)
        np.testing.assert_allclose(got["x"][0], expected, atol=1e-5 * np.abs(expected).max())


@given(
    st.integers(1, 4),
    st.integers(1, 4),
    st.lists(st.integers(0, 7), min_size=1, max_size=4),
    st.integers(1, 5),
)
def test_multiplying_row_blocks_is_multiplying(
    inner: int, columns: int, rows: list[int], n: int
) -> None:
    rng = np.random.default_rng(2)
    left = [rng.normal(size=(count, inner)) for count in rows]
    right = [rng.normal(size=(inner, columns)) for _ in rows]
    items = MATRICES(
        ts=moments(list(range(len(rows)))),
        a=[each.reshape(-1) for each in left],
        b=[each.reshape(-1) for each in right],
    )
    (whole,), _ = run_all(central(matmul(inner)), items)
    for row, a, b in zip(whole.vectors("c").each(), left, right, strict=True):
        np.testing.assert_allclose(row, (a @ b).reshape(-1), atol=DOUBLE * 10)
    (got,), withheld = run_all(window_split(n, matmul(inner)), items)
    assert not withheld
    assert_same(got, whole, DOUBLE * 10)


def test_what_is_no_matrix_is_held() -> None:
    items = MATRICES(ts=moments([1, 2]), a=np.ones((2, 4)), b=[np.ones(2), np.ones(3)])
    (got,), withheld = run_all(window_split(2, matmul(2)), items)
    assert got.times.tolist() == [1]
    assert {each.function for each in withheld if each.kind == "held"} == {"matmul"}
