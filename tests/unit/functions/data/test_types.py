import pickle
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import TypeMismatchError, UnknownColumnError
from penstock.functions import Items, StreamType, Vectors, fft3, window_distribute
from penstock.functions.data.scalars import arrow_type
from penstock.functions.data.vectors import ELEMENT
from penstock.model.schema import Column
from tests.unit.functions.worlds import RADIO, SIGNAL, moments, run_all

TAGGED = StreamType("tagged", (Column("tag", "string"),), under=SIGNAL)


def test_a_type_has_the_columns_of_its_supertype_first() -> None:
    assert [column.name for column in TAGGED.columns] == ["ts", "v", "tag"]
    assert TAGGED.ordering == "ts"
    assert TAGGED.is_a(SIGNAL)
    assert not SIGNAL.is_a(TAGGED)
    assert not TAGGED.is_a(RADIO)


def test_a_type_makes_items_and_reads_them() -> None:
    items = SIGNAL(ts=moments([5]), V=np.array([[1.0, 2.0]]))
    assert SIGNAL.v(items).tolist() == [[1.0, 2.0]]
    assert SIGNAL.ts(items)[0] == np.datetime64(5, "us")
    with pytest.raises(AttributeError):
        SIGNAL.w(items)


def test_columns_say_what_vectors_are_made_of() -> None:
    assert RADIO.arrow().field("x").metadata == {ELEMENT: b"complex64"}
    assert RADIO.arrow().field("x").type == pa.binary()


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ({"ts": moments([1])}, UnknownColumnError),
        ({"ts": moments([1]), "v": np.ones((1, 2)), "w": 1}, UnknownColumnError),
        ({"ts": moments([1, 2]), "v": np.ones((1, 2))}, TypeMismatchError),
        ({"ts": ["noon"], "v": np.ones((1, 2))}, TypeMismatchError),
        ({"ts": moments([1]), "v": np.ones((1, 2), complex)}, TypeMismatchError),
    ],
)
def test_what_is_no_item_is_refused(columns: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        SIGNAL(**columns)


@pytest.mark.parametrize(
    "make",
    [
        lambda: StreamType("t", (Column("a", "int"), Column("A", "int"))),
        lambda: StreamType("t", (Column("v", "double"),), under=SIGNAL),
        lambda: StreamType("t", (Column("v", "double vector"),), "v"),
        lambda: StreamType("t", (Column("p", "quaternion"),)).arrow(),
    ],
)
def test_what_is_no_type_is_refused(make) -> None:
    with pytest.raises(TypeMismatchError):
        make()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("decimal(3,1)", pa.decimal128(3, 1)),
        ("DECIMAL", pa.decimal128(10, 0)),
        ("varchar(3)", pa.string()),
        ("ARRAY<struct<a: INT, B: array<double>>>", None),
        ("map<string,array<decimal(2, 1)>>", pa.map_(pa.string(), pa.list_(pa.decimal128(2, 1)))),
    ],
)
def test_types_of_spark_are_types_of_arrow(text: str, kind: pa.DataType | None) -> None:
    nested = pa.struct([("a", pa.int32()), ("B", pa.list_(pa.float64()))])
    assert arrow_type(text) == (kind or pa.list_(nested))


def test_columns_of_any_type_are_carried() -> None:
    columns = (Column("at", "long"), Column("v", "float vector"), Column("d", "decimal(3,1)"))
    kind = StreamType("wide", (*columns, Column("l", "array<int>")), "at")
    items = kind(at=[1, 2], v=np.ones((2, 3), np.float32), d=[Decimal("1.5"), None], l=[[1], None])
    (got,), withheld = run_all(window_distribute(2, fft3), items, [1])
    assert not withheld
    assert got.table["d"].to_pylist() == [Decimal("1.5"), None]
    assert got.table["l"].to_pylist() == [[1], None]


def test_an_order_by_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownColumnError):
        StreamType("t", (Column("a", "int"),), "b")


def test_types_and_items_can_be_sent() -> None:
    assert pickle.loads(pickle.dumps(TAGGED)) == TAGGED
    items = SIGNAL(ts=moments([5]), v=np.array([[1.0]]))
    assert pickle.loads(pickle.dumps(items)).table == items.table


def test_vectors_of_every_form_become_the_same_column() -> None:
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    forms = [
        rows,
        list(rows),
        rows.tolist(),
        pa.array(rows.tolist()),
        Vectors.of(rows, SIGNAL.vectors["v"]),
        Vectors.of(rows, SIGNAL.vectors["v"]).to_arrow(),
    ]
    made = [SIGNAL(ts=moments([1, 2]), v=form)["v"].tolist() for form in forms]
    assert all(each == rows.tolist() for each in made)


def test_a_table_with_other_columns_gives_those_of_the_type() -> None:
    table = pa.table({"extra": [1], "v": [b""], "ts": pa.array([1], pa.timestamp("us", "UTC"))})
    assert Items.from_table(SIGNAL, table).table.column_names == ["ts", "v"]
    with pytest.raises(UnknownColumnError):
        Items.from_table(SIGNAL, table.drop_columns(["v"]))


@pytest.mark.parametrize(
    ("kind", "values", "times"),
    [
        ("date", ["2026-01-01"], [20454]),
        ("int", [3], [3]),
        ("timestamp", [np.datetime64(7, "us")], [7]),
    ],
)
def test_times_are_whole_numbers(kind: str, values: list[object], times: list[int]) -> None:
    ordered = StreamType("t", (Column("at", kind),), "at")
    if kind == "date":
        values = [np.datetime64(values[0], "D")]
    assert ordered(at=np.array(values)).times.tolist() == times


def test_items_without_an_order_are_in_that_of_their_numbers() -> None:
    free = StreamType("free", (Column("a", "int"),))
    assert free(a=[7, 5]).times.tolist() == [0, 1]


@given(st.lists(st.integers(0, 4), max_size=4), st.data())
def test_items_by_their_places_however_they_lie(sizes: list[int], data: st.DataObject) -> None:
    count = sum(sizes)
    chunks = [SIGNAL(ts=moments(range(size)), v=np.ones((size, 2))).table for size in sizes]
    table = pa.concat_tables([SIGNAL.arrow().empty_table(), *chunks])
    vectors = np.arange(2.0 * count).reshape(count, 2)
    ends = np.cumsum([0, *sizes])
    parts = [Vectors.of(vectors[a:b], SIGNAL.vectors["v"]) for a, b in pairwise(ends)]
    if parts:
        column = pa.chunked_array([each.to_arrow() for each in parts], pa.binary())
        table = table.set_column(1, table.schema.field("v"), column)
    items = Items(SIGNAL, table, np.arange(count))
    places = data.draw(st.lists(st.integers(0, count - 1), max_size=12) if count else st.just([]))
    for rows in (places, sorted(places), sorted(set(places))):
        found = items.take(np.array(rows, dtype=np.int64))
        assert found.numbers.tolist() == rows
        assert [each.tolist() for each in found.vectors("v").each()] == vectors[rows].tolist()
