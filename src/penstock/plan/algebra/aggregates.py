"""Aggregates as partials that combine: the algebra behind panes.

Law: finish(combine(partials of any cut)) equals Spark's own aggregate over the whole.
What has no partials that combine (a median, a count of distinct values) is *holistic*: it needs
the tuples themselves, and its one partial is Spark's own call.
First and last go by event time; among tuples of one time the smallest (largest) value wins,
so that the answer does not depend on the order of arrival. The moments combine by the rule of
Chan, Golub and LeVeque (1979), which does not cancel as sums of squares do.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import BadQueryError
from penstock.model.own_names import own
from penstock.plan.algebra.user_calls import parts_of


@dataclass(frozen=True, slots=True)
class Aggregate:
    """SQL of the partial columns, and templates over them: {0} is the first partial column."""

    text: str
    partials: tuple[str, ...]
    combines: tuple[str, ...]
    finish: str = "{0}"

    @property
    def is_holistic(self) -> bool:
        """Say whether partials of it do not combine."""
        return len(self.combines) < len(self.partials)

    def partial_sql(self, name: str) -> list[tuple[str, str]]:
        """Return the partial columns of the aggregate `name`, over tuples."""
        return [(f"{name}_{place}", sql) for place, sql in enumerate(self.partials)]

    def combine_sql(self, name: str) -> list[tuple[str, str]]:
        """Return the same columns, over partials."""
        columns = self._columns(name)
        return [
            (column, template.format(*columns))
            for column, template in zip(columns, self.combines, strict=True)
        ]

    def finish_sql(self, name: str) -> str:
        """Return the aggregate's value, over combined partials."""
        return self.finish.format(*self._columns(name))

    def _columns(self, name: str) -> list[str]:
        return [f"{name}_{place}" for place in range(len(self.partials))]


LEAST_BITS, MOST_BITS = 4, 21  # of hll_sketch_agg
AROUND = exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup


def is_aggregate(node: exp.Expr) -> bool:
    """Say whether the node calls an aggregate function, with what belongs to the call."""
    return isinstance(node, AROUND | exp.AggFunc) and not _is_over(node)


def _is_over(node: exp.Expr) -> bool:
    """Say whether the call belongs to an OVER: that is no aggregate."""
    while isinstance(node.parent, AROUND) and node.arg_key == "this":
        node = node.parent
    return isinstance(node.parent, exp.Window) and node.arg_key == "this"


def decompose(
    call: exp.Expr, *, time: str, show: Callable[[exp.Expr], str], type_of: "TypeOf"
) -> Aggregate:
    """Return the call as partials; `time` is SQL for the event time, `show` prints a node."""
    if isinstance(call, exp.WithinGroup) or isinstance(call.this, exp.WithinGroup):
        return Aggregate(show(call), (show(call),), ())
    where = ""
    inner = call.this if isinstance(call, exp.IgnoreNulls | exp.RespectNulls) else call
    nulls = type(call) if inner is not call else None
    if isinstance(inner, exp.Filter):  # Spark has it before IGNORE NULLS
        where = f" FILTER (WHERE {show(inner.expression.this)})"
        inner = inner.this
    if any(is_aggregate(each) for each in inner.walk() if each is not inner):
        raise BadQueryError(
            f"{show(inner)}: an aggregate cannot stand inside an aggregate",
            hint="aggregate in a SELECT below",
        )
    if parts := parts_of(inner, [show(each) for each in inner.expressions], where):
        partial, combine, finish = parts
        return Aggregate(show(call), (partial,), (combine,), finish)
    name = "count distinct" if _is_count_distinct(inner) else _name(inner)
    maker = _MAKERS.get(name)
    several = maker in SEVERAL and len(inner.expressions) > 2  # noqa: PLR2004  (value, by, how many)
    if maker is None or several or (inner.find(exp.Distinct) and name != "count distinct"):
        return Aggregate(show(call), (show(call),), ())
    return maker(_Call(inner, show(call), where, time, show, type_of, nulls))


TypeOf = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class _Call:
    node: exp.Expr
    text: str
    where: str
    time: str
    show: Callable[[exp.Expr], str]
    type_of: TypeOf
    nulls: type[exp.Expr] | None  # IGNORE NULLS or RESPECT NULLS

    @property
    def without_nulls(self) -> str:
        """Return what lets NULLs be, for functions that leave them out if not told otherwise."""
        if self.nulls is exp.RespectNulls:
            return self.where
        return _also(self.where, f"{self.argument()} IS NOT NULL")

    def arguments(self) -> list[str]:
        node = self.node
        given = node.expressions if isinstance(node, exp.AnonymousAggFunc) else [node.this]
        given = [*given, *node.expressions] if isinstance(node, exp.Count) else given
        return [self.show(each) for each in given]

    def argument(self, place: int = 0) -> str:
        given = self.arguments()
        if len(given) <= place:
            raise BadQueryError(f"{self.text} needs {place + 1} arguments")
        return given[place]


def _is_count_distinct(call: exp.Expr) -> bool:
    return isinstance(call, exp.Count) and isinstance(call.this, exp.Distinct)


def _name(call: exp.Expr) -> str:
    return call.name.lower() if isinstance(call, exp.AnonymousAggFunc) else call.key.lower()


def _count(call: _Call) -> Aggregate:
    sql = f"count({', '.join(call.arguments())}){call.where}"
    return Aggregate(call.text, (sql,), ("sum({0})",))


def _count_if(call: _Call) -> Aggregate:
    return Aggregate(call.text, (f"count_if({call.argument()}){call.where}",), ("sum({0})",))


def _sum(call: _Call) -> Aggregate:
    sql = f"sum({call.argument()}){call.where}"
    # Spark widens a decimal with every sum; the partial's own type is the right one throughout.
    return Aggregate(call.text, (sql,), (f"CAST(sum({{0}}) AS {call.type_of(sql)})",))


def _avg(call: _Call) -> Aggregate:
    argument = call.argument()
    result = call.type_of(f"avg({argument}){call.where}")
    summed = f"sum({argument})" if result != "double" else f"sum(CAST({argument} AS DOUBLE))"
    summed += call.where
    return Aggregate(
        call.text,
        (summed, f"count({argument}){call.where}"),
        (f"CAST(sum({{0}}) AS {call.type_of(summed)})", "sum({1})"),
        f"CAST({{0}} / nullif({{1}}, 0) AS {result})",
    )


def _same(function: str) -> Callable[[_Call], Aggregate]:
    def make(call: _Call) -> Aggregate:
        sql = f"{function}({call.argument()}){call.where}"
        return Aggregate(call.text, (sql,), (f"{function}({{0}})",))

    return make


def _by_time(function: str) -> Callable[[_Call], Aggregate]:
    def make(call: _Call) -> Aggregate:
        argument = call.argument()
        where = call.where
        if call.nulls is exp.IgnoreNulls or call.arguments()[1:] == ["TRUE"]:
            where = _also(where, f"{argument} IS NOT NULL")
        sql = f"{function}(struct({call.time} AS t, {argument} AS x)){where}"
        return Aggregate(call.text, (sql,), (f"{function}({{0}})",), "{0}.x")

    return make


def _by_other(function: str) -> Callable[[_Call], Aggregate]:
    def make(call: _Call) -> Aggregate:
        value, by = call.argument(0), call.argument(1)
        where = _also(call.where, f"{by} IS NOT NULL")
        sql = f"{function}(struct({by} AS t, {value} AS x)){where}"
        return Aggregate(call.text, (sql,), (f"{function}({{0}})",), "{0}.x")

    return make


def _moments(finish: str) -> Callable[[_Call], Aggregate]:
    def make(call: _Call) -> Aggregate:
        argument, where = f"CAST({call.argument()} AS DOUBLE)", call.where
        count = f"count({argument}){where}"
        sql = (
            f"struct(CAST({count} AS DOUBLE) AS n, "
            f"coalesce(avg({argument}){where}, 0D) AS mean, "
            f"coalesce(var_pop({argument}){where}, 0D) * {count} AS m2)"
        )
        return Aggregate(call.text, (sql,), (_CHAN,), finish)

    return make


_A, _B, _EACH = own("a"), own("b"), own("each")  # variables of lambdas
_APART = f"({_B}.mean - {_A}.mean)"
_CHAN = (
    f"aggregate(collect_list({{0}}), named_struct('n', 0D, 'mean', 0D, 'm2', 0D), ({_A}, {_B}) -> "
    f"CASE WHEN {_B}.n = 0 THEN {_A} WHEN {_A}.n = 0 THEN {_B} ELSE named_struct("
    f"'n', {_A}.n + {_B}.n, "
    f"'mean', {_A}.mean + {_APART} * {_B}.n / ({_A}.n + {_B}.n), "
    f"'m2', {_A}.m2 + {_B}.m2 + {_APART} * {_APART} * {_A}.n * {_B}.n / ({_A}.n + {_B}.n)) END)"
)
_POP = "CASE WHEN {0}.n > 0 THEN {0}.m2 / {0}.n END"
_SAMPLE = "CASE WHEN {0}.n > 1 THEN {0}.m2 / ({0}.n - 1) END"


def _count_distinct(call: _Call) -> Aggregate:
    values = [call.show(each) for each in call.node.this.expressions]
    where = call.where
    for value in values:  # as Spark has it, a row with a NULL among them does not count
        where = _also(where, f"{value} IS NOT NULL")
    fields = ", ".join(f"{value} AS x{place}" for place, value in enumerate(values))
    sql = f"collect_set(struct({fields})){where}"
    return Aggregate(call.text, (sql,), (_TOGETHER,), "CAST(size({0}) AS BIGINT)")


def _collect_set(call: _Call) -> Aggregate:
    kept = " RESPECT NULLS" if call.nulls is exp.RespectNulls else ""
    sql = f"collect_set({call.argument()}){call.where}{kept}"
    return Aggregate(call.text, (sql,), (_TOGETHER,), "array_sort({0})")


def _collect_list(call: _Call) -> Aggregate:
    """Collect in order of time; the sort is stable, so ties stay as they came."""
    value = call.argument()
    sql = f"collect_list(struct({call.time} AS t, {value} AS x)){call.without_nulls}"
    less, more = f"{_A}.t < {_B}.t", f"{_A}.t > {_B}.t"
    order = f"({_A}, {_B}) -> CASE WHEN {less} THEN -1 WHEN {more} THEN 1 ELSE 0 END"
    finish = f"transform(array_sort({{0}}, {order}), {_EACH} -> {_EACH}.x)"
    return Aggregate(call.text, (sql,), ("flatten(collect_list({0}))",), finish)


def _sketch(combine: str) -> Callable[[_Call], Aggregate]:
    def make(call: _Call) -> Aggregate:
        return Aggregate(call.text, (call.text,), (f"{combine}({{0}})",))

    return make


def _approx_count_distinct(call: _Call) -> Aggregate:
    size = ""  # Spark's own, whose answers are within 2 % mostly
    if call.arguments()[1:]:
        bits = _sketch_bits(call.arguments()[1])
        if bits is None:  # for Spark to judge, over the tuples
            return Aggregate(call.text, (call.text,), ())
        size = f", {bits}"
    sql = f"hll_sketch_agg({call.argument()}{size}){call.where}"
    finish = "coalesce(hll_sketch_estimate({0}), 0L)"
    return Aggregate(call.text, (sql,), ("hll_union_agg({0})",), finish)


def _sketch_bits(deviation: str) -> int | None:
    """Return how large a sketch (as a power of two) deviates no more than that, or None.

    A sketch of 2^k registers has a relative standard deviation of 1.04 / sqrt(2^k).
    """
    try:
        bits = math.ceil(2 * math.log2(1.04 / float(deviation)))
    except (ValueError, ZeroDivisionError):
        return None
    return max(bits, LEAST_BITS) if LEAST_BITS - 1 <= bits <= MOST_BITS else None


_TOGETHER = "array_distinct(flatten(collect_list({0})))"


def _also(where: str, condition: str) -> str:
    if not where:
        return f" FILTER (WHERE {condition})"
    given = where.removeprefix(" FILTER (WHERE ").removesuffix(")")
    return f" FILTER (WHERE ({given}) AND {condition})"


Maker = Callable[[_Call], Aggregate]
_MAX_BY, _MIN_BY = _by_other("max"), _by_other("min")
SEVERAL = (_MAX_BY, _MIN_BY)  # they may be asked for more than one value
_MAKERS: dict[str, Maker] = {
    "count": _count,
    "count distinct": _count_distinct,
    "approx_count_distinct": _approx_count_distinct,
    "array_agg": _collect_list,
    "collect_list": _collect_list,
    "collect_set": _collect_set,
    "hll_sketch_agg": _sketch("hll_union_agg"),
    "theta_sketch_agg": _sketch("theta_union_agg"),
    "count_if": _count_if,
    "sum": _sum,
    "avg": _avg,
    "min": _same("min"),
    "max": _same("max"),
    "bool_and": _same("bool_and"),
    "every": _same("bool_and"),
    "bool_or": _same("bool_or"),
    "some": _same("bool_or"),
    "any": _same("bool_or"),
    "bit_and": _same("bit_and"),
    "bit_or": _same("bit_or"),
    "bit_xor": _same("bit_xor"),
    "first": _by_time("min"),
    "first_value": _by_time("min"),
    "any_value": _by_time("min"),
    "last": _by_time("max"),
    "last_value": _by_time("max"),
    "max_by": _MAX_BY,
    "min_by": _MIN_BY,
    "variance": _moments(_SAMPLE),
    "var_samp": _moments(_SAMPLE),
    "var_pop": _moments(_POP),
    "std": _moments(f"sqrt({_SAMPLE})"),
    "stddev": _moments(f"sqrt({_SAMPLE})"),
    "stddev_samp": _moments(f"sqrt({_SAMPLE})"),
    "stddev_pop": _moments(f"sqrt({_POP})"),
}
