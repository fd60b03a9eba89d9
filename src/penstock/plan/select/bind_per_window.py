"""What compares the rows of one window: DISTINCT, OVER, QUALIFY, ORDER BY and LIMIT."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import BadOptionError, BadQueryError, TypeMismatchError
from penstock.model.own_names import own, readable
from penstock.model.schema import quoted
from penstock.plan.algebra.aliases import RowComparison, Shown
from penstock.plan.algebra.scope import place_of, plain
from penstock.plan.operators import Distinct, Operator, Top, WindowAggregate, walk
from penstock.plan.relations.meanings import meanings, told, worded
from penstock.plan.windows.bind_aggregate import Emission
from penstock.plan.windows.whole import window_columns, with_windows
from penstock.sql import spark_sql

BY, QUALIFIES, ORDER = own("by"), own("qualifies"), own("order")

Orders = tuple[tuple[exp.Expr, str], ...]


@dataclass(frozen=True, slots=True)
class PerWindow:
    """Binds the clauses that need all rows of a window, over an operator that gives them."""

    project: Callable[[Operator, Shown], Operator]
    filter: Callable[[Operator, exp.Expr], Operator]
    judge: Callable[[Top | Distinct, Mapping[str, str]], Operator]
    below: Operator
    emission: Emission

    def of(self, select: exp.Select, columns: Shown, compared: RowComparison) -> Operator:
        """Return the output's operators."""
        below, shown = with_windows(self.below), window_columns(self.below)
        by = window_columns(below)
        if not by or self.emission:
            raise _no_whole_windows(self.below)
        for _, node in columns:
            _check_over(node, shown, below)
        hidden = [(BY, plain(by[0]))]
        if compared.qualify is not None:
            _check_over(compared.qualify, shown, below)
            hidden.append((QUALIFIES, compared.qualify))
        orders = compared.orders
        hidden += [(f"{ORDER}{place}", node) for place, (node, _) in enumerate(orders)]
        operator = self.project(below, [*columns, *hidden])
        if compared.qualify is not None:
            _refuse_value(compared.qualify, operator)
            operator = self.filter(operator, plain(QUALIFIES))
        if select.args.get("distinct"):
            _refuse_unshown(columns, [node for node, _ in orders])
            kept = self.project(operator, self._named([*columns, hidden[0]], orders))
            operator = self.judge(Distinct(kept), self._meant(orders))
        if orders or select.args.get("limit") or select.args.get("offset"):
            texts = tuple(f"{quoted(f'{ORDER}{n}')}{how}" for n, (_, how) in enumerate(orders))
            limit, offset = _number(select, "limit"), _number(select, "offset") or 0
            operator = self.judge(Top(operator, BY, texts, limit, offset), self._meant(orders))
        return self.project(operator, [(name, plain(name)) for name, _ in columns])

    def _meant(self, orders: Orders) -> dict[str, str]:
        """Return what the hidden columns of ORDER BY are, for errors."""
        known = meanings(self.below)
        texts = [worded(spark_sql(node), known).replace("`", "") for node, _ in orders]
        return {f"{ORDER}{place}": text for place, text in enumerate(texts)}

    def _named(self, columns: Shown, orders: Orders) -> Shown:
        extra = [f"{ORDER}{place}" for place in range(len(orders))]
        return [(name, plain(name)) for name in [*(name for name, _ in columns), *extra]]


def _no_whole_windows(below: Operator) -> BadQueryError:
    """Return the error where rows of a window cannot be compared."""
    aggregates = [node for node in walk(below) if isinstance(node, WindowAggregate)]
    if any(each.marks_emission for each in aggregates):
        return BadQueryError(
            "DISTINCT, OVER, QUALIFY, ORDER BY and LIMIT compare the rows of a window, and with "
            "EMIT EARLY or ALLOWED LATENESS these come several times",
            hint="leave the emission out",
        )
    return BadQueryError(
        "DISTINCT, OVER, QUALIFY, ORDER BY and LIMIT need the rows of a whole window",
        hint="give the stream a window, such as [RANGE 10 SECONDS]",
    )


def _refuse_value(condition: exp.Expr, operator: Operator) -> None:
    """Raise where QUALIFY is no condition."""
    found = operator.schema.find(QUALIFIES)
    if found is not None and found.type.lower() != "boolean":
        raise TypeMismatchError(
            f"QUALIFY is {found.type}, not boolean",
            hint="compare it with something, as in rank() OVER (…) <= 3",
            place=place_of(condition),
        )


def _refuse_unshown(columns: Shown, orders: Iterable[exp.Expr]) -> None:
    """Raise where ORDER BY looks at what DISTINCT leaves out: rows would be equal no more."""
    shown = {spark_sql(node) for _, node in columns}
    for order in orders:
        for node in order.walk(prune=lambda each: spark_sql(each) in shown):
            if isinstance(node, exp.Column) and spark_sql(node) not in shown:
                raise BadQueryError(
                    "ORDER BY after DISTINCT can look at the columns of SELECT alone",
                    hint="show what it orders by",
                    place=place_of(node),
                )


def _check_over(node: exp.Expr, by: tuple[str, ...], below: Operator) -> None:
    """Raise where OVER would look beyond a window, whose columns are `by` where they are shown."""
    for window in node.find_all(exp.Window):
        parts = [each.unnest() for each in window.args.get("partition_by") or ()]
        named = {each.name for each in parts if isinstance(each, exp.Column)}
        if not named & set(by):
            raise BadQueryError(
                f"{told(spark_sql(window), below).replace('`', '')} would look beyond its window",
                hint=f"PARTITION BY {readable(by[0])} too"
                if by
                else "show the window's bound that moves in the SELECT below (window_start, or "
                "window_end from a landmark), and PARTITION BY it",
                place=place_of(window),
            )


def _number(select: exp.Select, clause: str) -> int | None:
    given = select.args.get(clause)
    if given is None:
        return None
    number = given.expression
    if isinstance(number, exp.Var) and number.name.upper() == "ALL":
        return None
    if not (isinstance(number, exp.Literal) and number.is_int):
        raise BadOptionError(f"{clause.upper()} takes a whole number", place=place_of(given))
    return int(number.this)
