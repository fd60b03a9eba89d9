"""Vectors on their way in and out: lists, pairs, bytes and numpy arrays mean the same."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.trains import vectors
from penstock.engine.trains.vectors import as_vector, column_of, is_vector_like, packed
from penstock.functions import Kind

NUMBERS = st.floats(width=32)
REAL = st.lists(st.none() | st.lists(st.none() | NUMBERS, max_size=4), max_size=6)
PAIRS = st.lists(
    st.none() | st.lists(st.none() | st.lists(NUMBERS, min_size=1, max_size=3), max_size=3),
    max_size=6,
)


def views(column: pa.Array, kind: Kind) -> list[Any]:
    return [None if v is None else np.frombuffer(v, kind.dtype) for v in column.to_pylist()]


@given(REAL)
def test_lists_of_numbers_are_vectors_unless_one_is_null(rows: list[Any]) -> None:
    column = pa.chunked_array([pa.array(rows, pa.list_(pa.float32()))])
    found, wrong = packed(column, Kind.FLOAT)
    for row, view, bad in zip(rows, views(found, Kind.FLOAT), wrong.to_pylist(), strict=True):
        assert bad == (row is not None and None in row)
        assert (view is None) == (row is None or bad)
        if view is not None:
            np.testing.assert_array_equal(view, np.array(row, np.float32))


@given(PAIRS)
def test_lists_of_pairs_are_complex_vectors_and_nothing_else_is(rows: list[Any]) -> None:
    column = pa.chunked_array([pa.array(rows, pa.list_(pa.list_(pa.float32())))])
    found, wrong = packed(column, Kind.COMPLEX)
    for row, view, bad in zip(rows, views(found, Kind.COMPLEX), wrong.to_pylist(), strict=True):
        whole = row is not None and all(each is not None and len(each) == 2 for each in row)
        assert bad == (row is not None and not whole)
        if whole:
            pairs = np.array(row, np.float32).reshape(-1, 2)
            np.testing.assert_array_equal(view.real, pairs[:, 0])
            np.testing.assert_array_equal(view.imag, pairs[:, 1])


def test_bytes_have_whole_elements() -> None:
    column = pa.chunked_array([pa.array([b"12345678", b"1234", None, b""], pa.binary())])
    found, wrong = packed(column, Kind.COMPLEX)
    assert wrong.to_pylist() == [False, True, False, False]
    assert found.to_pylist() == [b"12345678", None, None, b""]


def test_what_is_too_long_is_no_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "MOST_BYTES", 16)
    column = pa.chunked_array([pa.array([[1.0] * 4, [1.0] * 5], pa.list_(pa.float32()))])
    _, wrong = packed(column, Kind.FLOAT)
    assert wrong.to_pylist() == [False, True]
    with pytest.raises(ValueError, match="MiB"):
        as_vector([1.0] * 5, Kind.FLOAT)


@pytest.mark.parametrize(
    ("value", "kind"),
    [([1, 2], Kind.FLOAT), (np.array([1, 2]), Kind.COMPLEX), ([[1, 0], [2, 0]], Kind.COMPLEX)],
)
def test_python_values_are_vectors(value: Any, kind: Kind) -> None:
    np.testing.assert_array_equal(np.frombuffer(as_vector(value, kind), kind.dtype), [1, 2])


@pytest.mark.parametrize(
    ("value", "kind"),
    [(["a"], Kind.FLOAT), ([1j], Kind.FLOAT), ([[[1]]], Kind.FLOAT), (b"123", Kind.FLOAT)],
)
def test_other_values_are_none(value: Any, kind: Kind) -> None:
    with pytest.raises((TypeError, ValueError)):
        as_vector(value, kind)


def test_the_rows_of_a_matrix_are_a_column() -> None:
    matrix = np.arange(6, dtype=np.float64).reshape(3, 2)
    found = views(column_of(matrix, Kind.FLOAT), Kind.FLOAT)
    np.testing.assert_array_equal(np.array(found), matrix)


def test_types_that_can_hold_vectors() -> None:
    floats = pa.list_(pa.float32())
    assert all(map(is_vector_like, (pa.binary(), floats, pa.list_(floats), pa.list_(pa.int8()))))
    assert not any(map(is_vector_like, (pa.string(), pa.float32(), pa.list_(pa.string()))))
