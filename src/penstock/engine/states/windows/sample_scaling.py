"""Scaling in the driver: what `Scaling.sql` has Spark do, for the few rows of windows that close.

Where Spark would have to say (decimals, keys that are floats or nested), the answer is None.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.arrow.grouping import grouped
from penstock.model.own_names import own
from penstock.plan.operators.gate import ALL, ERROR, KEPT, ROWS, SHED
from penstock.plan.operators.windows.sample_scaling import WHOLE, SampleEstimate, SampleScaling
from penstock.qos.contracts.answers import SampleSums

Column = npt.NDArray[np.float64]
ARROW = {"bigint": pa.int64(), "double": pa.float64()}


def weighed(table: pa.Table, scaling: SampleScaling, windows: Sequence[str]) -> pa.Table | None:
    """Return a row for each of the windows' columns and the keys, None where Spark has to."""
    if any(each.type not in ARROW for each in scaling.estimates):
        return None
    groups = [*windows, *scaling.keys]
    if pc.min(table[KEPT]).as_py() == ALL:
        return _whole(table, scaling, groups)
    return _scaled(table, scaling, groups)


def _whole(table: pa.Table, scaling: SampleScaling, groups: Sequence[str]) -> pa.Table:
    """Return the answers where nothing was dropped: every group has its one row already."""
    columns = {name: table[name] for name in groups}
    for each in scaling.estimates:
        columns[each.name] = _plain(table, each).cast(ARROW[each.type])
    nothing = pa.array(np.zeros(table.num_rows))
    rows = table[scaling.every].cast(pa.int64())
    return pa.table({**columns, ERROR: nothing, SHED: nothing, ROWS: rows})


def _plain(table: pa.Table, each: SampleEstimate) -> pa.ChunkedArray:
    if each.kind == "count":
        return table[each.rows]
    if each.kind == "sum":
        return table[each.total]
    some = pc.if_else(pc.equal(table[each.rows], 0), None, table[each.rows])
    return pc.divide(table[each.total].cast(pa.float64()), some.cast(pa.float64()))


def _scaled(table: pa.Table, scaling: SampleScaling, groups: Sequence[str]) -> pa.Table | None:
    sums = _Sums(table, groups)
    asked = [scaling.every]
    for each in scaling.estimates:
        asked += [name for name in (each.rows, each.total, each.squares) if name]
    found = sums.of(dict.fromkeys(asked))
    if found is None:
        return None
    columns = {name: found[name] for name in groups}
    errors: list[Column] = []
    for each in scaling.estimates:
        sample = _sample(found, each)
        columns[each.name] = _answer(each, sample)
        if each.shown:
            errors.append(_error(each, sample))
    rows, weight = _figures(found, scaling.every), _figures(found, _w(scaling.every))
    if not errors:
        errors = [
            SampleSums(rows, weight, *[_figures(found, _more(scaling.every))] * 4).count_error()
        ]
    whole = found[_least(KEPT)].to_numpy() == ALL
    error = np.where(whole, 0.0, np.max(errors, axis=0))  # a NaN among them is none
    columns[ERROR] = pa.array(error, from_pandas=True)
    columns[SHED] = pa.array(1 - rows / weight)
    columns[ROWS] = found[scaling.every].cast(pa.int64())
    return pa.table(columns)


class _Sums:
    """Sums of columns as they are, weighed, and with what they add to variances."""

    def __init__(self, table: pa.Table, groups: Sequence[str]) -> None:
        self._table, self._groups = table, groups
        weight = ALL / table[KEPT].to_numpy()
        self._weights = {_w: weight, _more: weight * (weight - 1)}

    def of(self, names: dict[str, None]) -> pa.Table | None:
        columns = {name: self._table[name] for name in (*self._groups, KEPT)}
        asked = [(_least(KEPT), "min", KEPT)]
        for name in names:
            columns[name] = self._table[name]
            asked.append((name, "sum", name))
            plain = self._table[name].cast(pa.float64())
            for named, weights in self._weights.items():
                columns[named(name)] = pc.multiply(plain, pa.array(weights))
                asked.append((named(name), "sum", named(name)))
        return grouped(pa.table(columns), self._groups, asked)


def _w(name: str) -> str:
    return own(f"w_{name}")


def _more(name: str) -> str:
    return own(f"more_{name}")


def _least(name: str) -> str:
    return own(f"least_{name}")


def _sample(found: pa.Table, each: SampleEstimate) -> SampleSums:
    counted = (_figures(found, each.rows), _figures(found, _w(each.rows)))
    more = _figures(found, _more(each.rows))
    if each.kind == "count":
        return SampleSums(*counted, counted[1], more, more, more)
    total, both = (_figures(found, name(each.total)) for name in (_w, _more))
    return SampleSums(*counted, total, more, both, _figures(found, _more(each.squares)))


def _figures(found: pa.Table, name: str) -> Column:
    return found[name].cast(pa.float64()).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _answer(each: SampleEstimate, sample: SampleSums) -> pa.Array:
    values = {"count": sample.count, "sum": sample.total, "avg": sample.average}[each.kind]
    if each.type in WHOLE:
        values = np.copysign(np.floor(np.abs(values) + 0.5), values)
    unknown = None if each.kind == "count" else sample.rows == 0  # no values have no sum
    return pa.array(values, mask=unknown).cast(ARROW[each.type])


def _error(each: SampleEstimate, sample: SampleSums) -> Column:
    if each.kind == "count":
        return sample.count_error()
    return sample.sum_error() if each.kind == "sum" else sample.average_error()
