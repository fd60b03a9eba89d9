"""Functions of windows of items (GSDM-18): one of n by chance, aggregates of elements."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.errors import BadOptionError, BadRowError
from penstock.functions.data.items import Items, StreamType
from penstock.functions.data.results import same
from penstock.functions.data.vectors import Array, Kind, Vectors
from penstock.functions.data.windows import ItemWindows, sliding_window, span_of, time_window
from penstock.functions.library.partitions import mixed
from penstock.functions.operators.function import Function, Parameter, Role
from penstock.functions.operators.guard import Made
from penstock.model.schema import Column

WINDOW_START, WINDOW_END, WINDOW_ITEM = "window_start", "window_end", "window_item"
NUMERIC = ("tinyint", "smallint", "int", "integer", "bigint", "float", "double")
HOW: dict[str, Callable[..., Array]] = {
    "sum": np.add.reduceat,
    "mean": np.add.reduceat,
    "min": np.minimum.reduceat,
    "max": np.maximum.reduceat,
}


def _sample(windows: ItemWindows, *, n: int, seed: int) -> Items:
    """Pick by the number of each window's last item, so that a replay picks the same."""
    chance = mixed(windows.last.numbers, seed) % np.uint64(n)
    return windows.pick(chance.astype(np.int64))


def _aggregate_type(given: StreamType, parameters: Mapping[str, Any]) -> StreamType:
    how = parameters["how"]
    if how not in HOW:
        raise BadOptionError(f"there is no aggregate {how!r}", hint=f"one of {', '.join(HOW)}")
    ordered = [name for name, kind in given.vectors.items() if kind.is_complex]
    if how in ("min", "max") and ordered:
        raise BadOptionError(
            f"complex numbers have no order, and {', '.join(ordered)} of {given.name} are complex",
            hint="put magnitude before it",
        )
    columns = tuple(
        Column(each.name, "double") if how == "mean" and _is_number(given, each) else each
        for each in given.columns
    )
    return given if columns == given.columns else given.with_columns(given.name, columns)


def _aggregated(windows: ItemWindows, *, how: str, **_window: Any) -> Items:
    """Aggregate numbers, and vectors element by element; else the window's last item speaks."""
    last = windows.last
    kind = _aggregate_type(last.type, {"how": how})
    made: dict[str, Any] = {}
    for column in kind.columns:
        if column.name in kind.vectors:
            vectors = windows.items.vectors(column.name)
            made[column.name] = Vectors.of(reduced(windows, vectors, how), vectors.kind)
        elif _is_number(kind, column):
            values = windows.items.table[column.name].to_numpy()[:, None]
            values = values.astype(np.float64) if how == "mean" else values
            made[column.name] = reduced_rows(values, windows.starts, windows.stops, how)[:, 0]
    return last.with_columns(kind, made)


def _windows_type(given: StreamType, _parameters: Mapping[str, Any]) -> StreamType:
    """Return the items with the bounds of a window, and its last item's number."""
    if given.ordering is None:
        raise BadOptionError(
            f"items of type {given.name} have no time, and time windows need one",
            hint="give the stream TIMESTAMP BY",
        )
    time = given[given.ordering].type
    added = (Column(WINDOW_START, time), Column(WINDOW_END, time), Column(WINDOW_ITEM, "bigint"))
    return StreamType(given.name, (*given.columns, *added), WINDOW_END)


def _time_windows(windows: ItemWindows, *, span: float) -> Made:
    """Give every item of every window, one window after another."""
    sizes = windows.stops - windows.starts
    of = np.repeat(np.arange(len(windows), dtype=np.int64), sizes)
    first = np.repeat(windows.starts - (np.cumsum(sizes) - sizes), sizes)
    inside = windows.items.take(first + np.arange(len(of), dtype=np.int64))
    last = windows.last
    kind, unit = _windows_type(last.type, {}), windows.items.type
    ends = last.times[of]
    made = {
        WINDOW_START: _moments(unit, ends - span_of(unit, span)),
        WINDOW_END: _moments(unit, ends),
        WINDOW_ITEM: last.numbers[of],
    }
    return Made(inside.with_columns(kind, made), of)


def _moments(given: StreamType, times: npt.NDArray[np.int64]) -> pa.Array:
    """Return times as the column that orders items has them."""
    wanted = given.field(given.ordering or "").type
    narrow = pa.int32() if pa.types.is_date32(wanted) else pa.int64()
    return pa.array(times).cast(narrow).cast(wanted)


def _is_number(given: StreamType, column: Column) -> bool:
    return column.type.lower() in NUMERIC and column.name != given.ordering


def reduced(windows: ItemWindows, vectors: Vectors, how: str) -> Array:
    """Return the aggregate of the vectors of each window."""
    first, stop = int(windows.starts.min()), int(windows.stops.max())
    lengths = vectors.lengths[first:stop]
    if (lengths != lengths[0]).any():
        raise BadRowError(
            "the vectors of a window differ in length", hint="aggregate vectors of one length"
        )
    rows = vectors.values[vectors.offsets[first] : vectors.offsets[stop]]
    matrix = rows.reshape(stop - first, int(lengths[0]))
    return reduced_rows(matrix, windows.starts - first, windows.stops - first, how)


def reduced_rows(
    rows: Array, starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64], how: str
) -> Array:
    """Return the aggregate of each run of rows; runs may overlap."""
    exact = rows.astype(_wide(rows.dtype), copy=False)
    padded = np.concatenate([exact, exact[-1:]])  # reduceat needs each stop to be a row
    bounds = np.stack([starts, stops], axis=1).reshape(-1)
    made = HOW[how](padded, bounds, axis=0)[::2]
    if how == "mean":
        made = made / (stops - starts)[:, None]
    return made.astype(rows.dtype, copy=False)


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return what sums are kept in: doubles for floats, as long as vectors have room for it."""
    if dtype.kind == "c":
        return Kind.DOUBLE_COMPLEX.dtype
    return Kind.DOUBLE.dtype if dtype.kind == "f" else dtype


sample = Function(
    "sample",
    Role.WINDOW,
    _sample,
    same,
    parameters=(Parameter("n", int), Parameter("seed", int, 0)),
    window=sliding_window("n"),
)
window_aggregate = Function(
    "window_aggregate",
    Role.WINDOW,
    _aggregated,
    _aggregate_type,
    parameters=(
        Parameter("how", str),
        Parameter("size", int),
        Parameter("step", int, None),
    ),
    window=sliding_window("size", "step"),
)
time_aggregate = Function(
    "time_aggregate",
    Role.WINDOW,
    _aggregated,
    _aggregate_type,
    parameters=(Parameter("how", str), Parameter("span", float)),
    window=time_window("span"),
)
time_windows = Function(
    "time_windows",
    Role.WINDOW,
    _time_windows,
    _windows_type,
    parameters=(Parameter("span", float),),
    window=time_window("span"),
)
