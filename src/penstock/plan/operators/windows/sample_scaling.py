"""Scaling: what the windows' rows over samples tell of all tuples.

A window has a row for each key and each share that a gate kept while its tuples came. A tuple that
came through where `KEPT` of a million did stands for w = 1,000,000 / `KEPT`, and adds w (w - 1)
to the variance of a count. So sums over tuples that came plainly are weighed afterwards, row by
row; `bounds.py` tells how wrong what comes of it may be.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from penstock.model.own_names import own
from penstock.model.schema import quoted
from penstock.plan.algebra.bounds import COUNT, MEAN, SUM
from penstock.plan.operators.gate import ALL, ERROR, KEPT, ROWS, SHED

WHOLE = ("tinyint", "smallint", "int", "bigint")
_W, _MORE = own("w"), own("more")

Kind = Literal["count", "sum", "avg"]


@dataclass(frozen=True, slots=True)
class SampleEstimate:
    """What stands for an aggregate over all tuples: its name and type, and of what it is made.

    `rows`, `total` and `squares` are columns: how many values there were, their sum, and the sum
    of their squares. The error of one that is not `shown` is nobody's.
    """

    KIND: ClassVar[str] = "Estimate"

    name: str
    kind: Kind
    type: str
    shown: bool
    rows: str = ""
    total: str = ""
    squares: str = ""

    def of(self, rows: str, total: str = "", squares: str = "") -> "SampleEstimate":
        """Return the estimate over columns of these names."""
        return replace(self, rows=rows, total=total, squares=squares)


@dataclass(frozen=True, slots=True)
class SampleScaling:
    """The columns of groups are `keys`; `every` has how many tuples a row was made from."""

    KIND: ClassVar[str] = "Weighing"

    keys: tuple[str, ...]
    estimates: tuple[SampleEstimate, ...]
    every: str

    def renamed(self, names: Mapping[str, str]) -> "SampleScaling":
        """Return the same over columns of other names."""
        estimates = (
            each.of(names[each.rows], names.get(each.total, ""), names.get(each.squares, ""))
            for each in self.estimates
        )
        return replace(self, estimates=tuple(estimates), every=names[self.every])

    def sql(self, relation: str, windows: Sequence[str]) -> str:
        """Return the SELECT of a row for each of the windows' columns and the keys."""
        groups = [*windows, *map(quoted, self.keys)]
        shown = [f"{_value(each)} AS {quoted(each.name)}" for each in self.estimates]
        shown += [
            f"{self._error_sql()} AS {ERROR}",
            f"1 - sum({self.every}) / sum({_W} * {self.every}) AS {SHED}",
            f"CAST(sum({self.every}) AS BIGINT) AS {ROWS}",
        ]
        weight = f"{ALL}D / {KEPT}"
        weighed = f"SELECT *, {weight} AS {_W}, {weight} * ({weight} - 1) AS {_MORE}"
        columns = ", ".join([*groups, *shown])
        return f"SELECT {columns} FROM ({weighed} FROM {relation}) GROUP BY {', '.join(groups)}"

    def text(self) -> str:
        """Show what is estimated."""
        return ", ".join(f"{each.kind} {each.name}" for each in self.estimates)

    def _error_sql(self) -> str:
        """Return the greatest bound, none where one has none, and zero where nothing was dropped.

        Of rows that show no estimate, it is how wrong their number is.
        """
        known = [_bound(each) for each in self.estimates if each.shown]
        known = known or [_count_bound(self.every)]
        missing = " OR ".join(f"{each} IS NULL" for each in known)  # which greatest would pass over
        greatest = f"greatest({', '.join(known)})" if len(known) > 1 else known[0]
        return f"CASE WHEN {_OPEN} THEN 0D WHEN {missing} THEN NULL ELSE {greatest} END"


_OPEN = f"min({KEPT}) = {ALL}"


def _value(each: SampleEstimate) -> str:
    count = f"sum({_W} * {each.rows})"
    if each.kind == "count":
        return f"CAST(round({count}) AS {each.type})"
    total = _total(each)
    if each.kind == "avg":
        exact, weighed = f"sum({each.total}) / nullif(sum({each.rows}), 0)", f"{total} / {count}"
    else:
        exact = f"sum({each.total})"
        weighed = f"round({total})" if each.type in WHOLE else total
    exact, weighed = (f"CAST({text} AS {each.type})" for text in (exact, weighed))
    return f"CASE WHEN {_OPEN} THEN {exact} ELSE {weighed} END"


def _total(each: SampleEstimate) -> str:
    return f"sum({_W} * CAST({each.total} AS DOUBLE))"


def _count_bound(rows: str) -> str:
    return f"{COUNT}(sum({_W} * {rows}), sum({_MORE} * {rows}))"


def _bound(each: SampleEstimate) -> str:
    if each.kind == "count":
        return _count_bound(each.rows)
    total, rows = _total(each), f"CAST(sum({each.rows}) AS BIGINT)"
    totals = f"sum({_MORE} * {each.squares})"
    if each.kind == "sum":
        return f"{SUM}(abs({total}), {totals}, {rows})"
    count, counts = f"sum({_W} * {each.rows})", f"sum({_MORE} * {each.rows})"
    both = f"sum({_MORE} * CAST({each.total} AS DOUBLE))"
    return f"{MEAN}({total} / {count}, {count}, {counts}, {both}, {totals}, {rows})"
