import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadRowError, TypeMismatchError
from penstock.functions import Kind, Vectors
from penstock.functions.data.vectors import kind_of, kind_of_dtype, misfits

kinds = st.sampled_from(Kind)
numbers = st.floats(width=32, allow_nan=True, allow_infinity=True)


@st.composite
def columns(draw: st.DrawFn) -> tuple[Kind, list[np.ndarray]]:
    kind = draw(kinds)
    lists = draw(st.lists(st.lists(st.tuples(numbers, numbers), max_size=4), max_size=5))
    made = []
    for each in lists:
        pairs = np.array(each, dtype=kind.real.dtype).reshape(-1, 2)
        made.append(pairs.view(kind.dtype).reshape(-1) if kind.is_complex else pairs[:, 0].copy())
    return kind, made


@given(columns(), st.integers(0, 5), st.integers(0, 5))
def test_vectors_come_back_from_arrow_bit_by_bit(
    column: tuple[Kind, list[np.ndarray]], first: int, chunks: int
) -> None:
    kind, vectors = column
    packed = Vectors.of(vectors, kind).to_arrow()
    assert packed.to_pylist() == [each.tobytes() for each in vectors]
    cut = pa.chunked_array([packed[:chunks], packed[chunks:]])
    for given_column in (packed[first:], cut.slice(first)):
        back = Vectors.from_arrow(given_column, kind)
        assert [each.tobytes() for each in back.each()] == [e.tobytes() for e in vectors[first:]]


@given(columns())
def test_vectors_come_back_from_lists_of_numbers(column: tuple[Kind, list[np.ndarray]]) -> None:
    kind, vectors = column
    numbers = [each.view(kind.real.dtype) for each in vectors]  # complex ones as re, im, in turn
    lists = pa.array(numbers, pa.large_list(pa.from_numpy_dtype(kind.real.dtype)))
    for given_lists in (lists, lists.cast(pa.list_(pa.float64()))):
        back = Vectors.from_lists(given_lists, kind)
        assert back.lengths.tolist() == [len(each) for each in vectors]
        for ours, theirs in zip(back.each(), vectors, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@given(columns())
def test_a_function_of_each_vector_is_that_of_one_after_another(
    column: tuple[Kind, list[np.ndarray]],
) -> None:
    kind, vectors = column
    made = Vectors.of(vectors, kind).map(lambda rows: np.repeat(rows, 2, axis=1)[:, 1:])
    assert len(made) == len(vectors)
    for ours, theirs in zip(made.each(), vectors, strict=True):
        np.testing.assert_array_equal(ours, np.repeat(theirs, 2)[1:])


def test_vectors_of_one_length_are_one_view() -> None:
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    packed = Vectors.of(rows, Kind.FLOAT).to_arrow()
    matrix = Vectors.from_arrow(packed, Kind.FLOAT).matrix
    assert matrix is not None
    assert matrix.tolist() == rows.tolist()
    assert np.shares_memory(matrix, np.frombuffer(packed.buffers()[2], dtype=np.float32))
    assert np.shares_memory(matrix, rows)


def test_vectors_of_several_lengths_are_no_matrix() -> None:
    assert Vectors.of([np.zeros(1), np.zeros(2)], Kind.DOUBLE).matrix is None


@pytest.mark.parametrize("values", [[None], [b"abc"]])
def test_null_and_half_an_element_are_refused(values: list[bytes | None]) -> None:
    with pytest.raises(BadRowError):
        Vectors.from_arrow(pa.array(values, pa.binary()), Kind.FLOAT)


def test_the_places_of_what_is_no_vector_are_told() -> None:
    values = pa.array([b"", None, b"abc", b"abcd"], pa.binary())
    assert misfits(values, Kind.FLOAT).tolist() == [1, 2]
    assert misfits(values[2:], Kind.FLOAT).tolist() == [0]


def test_lists_that_are_no_vectors_are_refused() -> None:
    for lists in ([[1.0, None]], [None]):
        with pytest.raises(BadRowError):
            Vectors.from_lists(pa.array(lists, pa.list_(pa.float32())), Kind.FLOAT)
    with pytest.raises(BadRowError, match="odd"):
        Vectors.from_lists(pa.array([[1.0]], pa.list_(pa.float32())), Kind.COMPLEX)


def test_kinds_are_named_as_sql_names_them() -> None:
    assert kind_of("Complex  VECTOR") is Kind.COMPLEX
    assert kind_of("binary") is None
    assert kind_of_dtype(np.dtype(np.complex128)) is Kind.DOUBLE_COMPLEX
    with pytest.raises(TypeMismatchError):
        kind_of_dtype(np.dtype(np.int8))


def test_large_columns_have_wide_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.functions.data.vectors.MOST_BYTES", 8)
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    packed = Vectors.of(rows, Kind.FLOAT).to_arrow()
    assert pa.types.is_large_binary(packed.type)
    assert Vectors.from_arrow(packed[1:], Kind.FLOAT).each()[0].tolist() == [3, 4, 5]
