from collections.abc import Sequence
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest

from penstock.errors import BadFlowError, BadWindowError, TypeMismatchError
from penstock.functions import (
    Items,
    Made,
    Role,
    Runner,
    Split,
    StreamType,
    central,
    current_window,
    os_join,
    pcc,
    s_merge,
    sliding_window,
    stream_function,
    time_window,
    window_split,
)
from penstock.functions.data.windows import ItemWindows
from penstock.model.schema import Column
from tests.unit.functions.worlds import RADIO, SIGNAL, moments, run_all

POWER = StreamType("power", (Column("ts", "timestamp"), Column("watts", "double")), "ts")


@stream_function
def doubled(rows: np.ndarray) -> np.ndarray:
    return rows * 2


@stream_function(result="complex vector")
def turned(rows: np.ndarray, *, by: float = 0.5) -> np.ndarray:
    return rows * np.exp(1j * by)


@stream_function(result=POWER, over="items")
def power(items: Items) -> dict[str, object]:
    return {"watts": [float((np.abs(row) ** 2).sum()) for row in items["v"]]}


@stream_function(over="table")
def backwards(table: pa.Table) -> pa.Table:
    return table.set_column(1, "v", pa.array([each.as_py()[::-1] for each in table["v"]]))


@stream_function(over="items")
def positive(items: Items) -> np.ndarray:
    return np.array([row[0] > 0 for row in items["v"]])


@stream_function(over="items")
def twice(items: Items) -> Made:
    rows = np.repeat(np.arange(len(items)), 2)
    return Made(items.take(rows), rows)


@stream_function(window=sliding_window("n", 1))
def trend(stack: np.ndarray, *, n: int) -> np.ndarray:
    return (stack[:, -1] - stack[:, 0]) / n


@stream_function(window=current_window())
def tripled(rows: np.ndarray) -> np.ndarray:
    return rows * 3


@stream_function(over="items", window=time_window(1.0), result=POWER)
def counted(windows: ItemWindows) -> dict[str, object]:
    return {"watts": (windows.stops - windows.starts).astype(float)}


@stream_function(role="partition")
def halves(rows: np.ndarray, n: int, i: int) -> np.ndarray:
    return rows[:, i * rows.shape[1] // n : (i + 1) * rows.shape[1] // n]


@stream_function(role=Role.COMBINE)
def side_by_side(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts, axis=1)


@stream_function(split=Split(halves, side_by_side))
def squared(rows: np.ndarray) -> np.ndarray:
    return rows**2


def signal(*rows: Sequence[float]) -> Items:
    return SIGNAL(ts=moments(range(len(rows))), v=[np.array(row, dtype=float) for row in rows])


def test_a_function_of_vectors_gets_many_at_once() -> None:
    (got,), _ = run_all(central(doubled), signal([1, 2], [3, 4]))
    assert got["v"].tolist() == [[2, 4], [6, 8]]


def test_a_function_declares_what_it_makes_of_vectors() -> None:
    (got,), _ = run_all(central(turned(by=np.pi)), signal([1, 2]))
    assert got.type.columns[1].type == "complex vector"
    np.testing.assert_allclose(got["v"], [[-1, -2]], atol=1e-6)
    assert turned.parameters[0].default == 0.5


def test_a_function_of_items_gives_columns_of_another_type() -> None:
    (got,), _ = run_all(central(power), signal([3, 4], [1]))
    assert got.type == POWER
    assert got["watts"].tolist() == [25.0, 1.0]


def test_a_function_of_tables_gives_tables() -> None:
    (got,), _ = run_all(central(backwards), signal([1], [2]))
    assert got["v"].tolist() == [
        [float(np.frombuffer(np.float64(n).tobytes()[::-1])[0])] for n in (1, 2)
    ]


def test_a_mask_selects() -> None:
    (got,), _ = run_all(central(positive), signal([1], [-1], [2]))
    assert got["v"].tolist() == [[1], [2]]
    assert got.numbers.tolist() == [0, 2]


def test_one_item_can_become_several() -> None:
    (got,), _ = run_all(central(twice), signal([1], [2]))
    assert got["v"].tolist() == [[1], [1], [2], [2]]
    flow = pcc(2, halves, twice, os_join(side_by_side))
    (got,), withheld = run_all(flow, signal([1, 2], [3, 4]), [1])
    assert not withheld
    assert got["v"].tolist() == [[1, 2], [1, 2], [3, 4], [3, 4]]


def test_a_function_of_windows_gets_a_stack_of_them() -> None:
    (got,), _ = run_all(central(trend(n=2)), signal([1], [3], [7]), [1, 2], kill=True)
    assert got["v"].tolist() == [[1], [2]]


def test_the_current_window_is_the_item() -> None:
    (got,), _ = run_all(central(tripled), signal([1], [2]))
    assert got["v"].tolist() == [[3], [6]]


def test_a_function_of_time_windows_gets_their_places() -> None:
    items = SIGNAL(ts=moments([0, 600_000, 1_200_000]), v=np.zeros((3, 1)))
    (got,), _ = run_all(central(counted), items)
    assert got["watts"].tolist() == [1, 2, 2]


def test_a_function_with_its_own_split_is_computed_in_parts() -> None:
    items = signal([1, 2, 3], [4], [])
    (whole,), _ = run_all(central(squared), items)
    (got,), withheld = run_all(window_split(2, squared), items)
    assert not withheld
    assert [row.tolist() for row in got["v"]] == [row.tolist() for row in whole["v"]]


@pytest.mark.parametrize("error", [ValueError, SystemExit])
def test_a_function_that_raises_holds_that_item_and_goes_on(error: type[BaseException]) -> None:
    @stream_function(over="items")
    def picky(items: Items) -> Items:
        if any(row[0] == 3 for row in items["v"]):
            raise error("not three")
        return items

    (got,), withheld = run_all(central(picky), signal(*([n] for n in range(8))))
    assert [row[0] for row in got["v"]] == [0, 1, 2, 4, 5, 6, 7]
    (held,) = withheld
    assert (held.kind, held.function, held.node) == ("held", "picky", 0)
    assert held.cause == f"FUNCTION_FAILED: picky: {error.__name__}: not three"
    assert held.items["v"].tolist() == [[3.0]]


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (lambda items: items.slice(1), "1 items went in, 0 came out"),
        (lambda _: None, "returned NoneType"),
        (lambda _: np.ones(7, dtype=bool), "a mask of shape"),
        (lambda _: {"v": np.ones((9, 2))}, "columns of"),
        (lambda items: {"v": [["a"]] * len(items)}, "is made of float64"),
        (lambda items: {"v": np.ones((len(items), 2), complex)}, "is made of float64"),
        (lambda _: {"w": 1}, "no column w"),
        (lambda items: items.with_columns(POWER, {"watts": [1.0] * len(items)}), "came out, not"),
    ],
)
def test_what_was_not_declared_is_held_by_name(answer: object, cause: str) -> None:
    function = stream_function(answer, over="items", name="odd")
    (got,), withheld = run_all(central(function), signal([1], [2]))
    assert not len(got)
    assert all("odd" in each.cause and cause in each.cause for each in withheld)
    assert sum(len(each.items) for each in withheld) == 2


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (lambda rows: rows[:, 0], "array of shape"),
        (lambda rows: rows[:0], "array of shape"),
        (lambda rows: rows * 1j, "complex128 came out"),
        (lambda rows: rows / "2", "ufunc 'divide'"),
    ],
)
def test_arrays_of_another_shape_or_type_are_held(answer: object, cause: str) -> None:
    function = stream_function(answer, name="odd")
    (got,), withheld = run_all(central(function), signal([1, 2]))
    assert not len(got)
    assert cause in withheld[0].cause


def test_what_cannot_be_declared_is_refused() -> None:
    with pytest.raises(BadFlowError, match="has to say what it is"):
        stream_function(lambda rows, *, gain: rows * gain, name="f")
    with pytest.raises(BadFlowError, match="cannot be called"):
        stream_function(lambda rows: rows)
    with pytest.raises(BadFlowError, match="cannot return"):
        stream_function(doubled.apply.function, result="octonion vector")
    with pytest.raises(BadFlowError, match="depends on size"):
        stream_function(doubled.apply.function, window=sliding_window("size"))


@pytest.mark.parametrize("span", [-1.0, float("nan"), float("inf"), timedelta(seconds=-1)])
def test_windows_that_are_none_are_refused(span: object) -> None:
    with pytest.raises(BadWindowError):
        Runner(central(trend(n=0)), (SIGNAL,))
    with pytest.raises(BadWindowError):
        Runner(
            central(stream_function(doubled.apply.function, window=time_window(span))), (SIGNAL,)
        )


def test_a_function_over_a_type_takes_what_is_under_it() -> None:
    function = stream_function(doubled.apply.function, takes=SIGNAL)
    under = StreamType("tagged", (Column("tag", "string"),), under=SIGNAL)
    assert Runner(central(function), (under,)).result_types == (under,)
    with pytest.raises(TypeMismatchError, match="takes items of type signal"):
        Runner(central(function), (RADIO,))
    items = under(ts=moments([1]), v=np.ones((1, 2)), tag=["a"])
    (got,), _ = run_all(central(function), items)
    assert (got["v"].tolist(), got["tag"].tolist()) == ([[2, 2]], ["a"])


def test_vectors_of_one_length_become_vectors_of_one_length() -> None:
    @stream_function
    def trimmed(rows: np.ndarray) -> np.ndarray:
        return rows[:, : int(rows.max())]

    long = 2**16  # one vector is a block
    items = SIGNAL(ts=moments(range(3)), v=[np.full(long, n) for n in (3.0, 3.0, 4.0)])
    (got,), withheld = run_all(central(trimmed), items)
    assert [len(row) for row in got["v"]] == [3, 3, 4]
    assert not withheld
    with pytest.raises(TypeMismatchError, match="became 3 and 4 elements long"):
        items.vectors("v").map(trimmed.apply.function)


def test_windows_of_vectors_of_several_lengths_are_held() -> None:
    (got,), withheld = run_all(central(trend(n=2)), signal([1], [2], [3, 4]))
    assert not len(got)
    assert "differ in how much they hold" in withheld[0].cause


def test_windows_are_no_tables() -> None:
    function = stream_function(backwards.apply.function, over="table", window=sliding_window(2))
    (got,), withheld = run_all(central(function), signal([1], [2]))
    assert not len(got)
    assert "windows are not tables" in withheld[0].cause


def test_parts_can_be_tables() -> None:
    @stream_function(over="table", role="combine")
    def first_of(parts: Sequence[pa.Table]) -> pa.RecordBatch:
        return parts[0].combine_chunks().to_batches()[0]

    (got,), withheld = run_all(pcc(2, halves, doubled, os_join(first_of)), signal([1, 2]))
    assert not withheld
    assert got["v"].tolist() == [[2]]


def test_its_source_is_kept() -> None:
    assert "rows * 2" in doubled.source
    assert doubled.version == 1


def test_merging_needs_no_split() -> None:
    (got,), _ = run_all(pcc(2, halves, doubled, s_merge), signal([1, 2]))
    assert got["v"].tolist() == [[2], [4]]
