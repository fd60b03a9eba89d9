"""What compares the rows of one window: DISTINCT, OVER, QUALIFY, ORDER BY and LIMIT."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import BadOptionError, BadQueryError
from penstock.model.schema import quoted
from penstock.plan.bind_aggregate import Emission
from penstock.plan.operators import Distinct, Operator, Top
from penstock.plan.operators.window_aggregate import END, START
from penstock.plan.scope import place_of, plain
from penstock.plan.whole import window_column
from penstock.sql import spark_sql

BY, QUALIFIES, ORDER = "_by", "_qualifies", "_order"

Shown = list[tuple[str, exp.Expr]]


@dataclass(frozen=True, slots=True)
class PerWindow:
    """Binds the clauses that need all rows of a window, over an operator that gives them."""

    project: Callable[[Operator, Shown], Operator]
    filter: Callable[[Operator, exp.Expr], Operator]
    below: Operator
    emission: Emission

    def of(self, select: exp.Select, columns: Shown) -> Operator:
        """Return the output's operators."""
        by = window_column(self.below)
        if by is None or self.emission:
            raise BadQueryError(
                "DISTINCT, OVER, QUALIFY, ORDER BY and LIMIT need the rows of a whole window",
                hint="give the stream a window, such as [RANGE 10 SECONDS]",
            )
        for _, node in columns:
            _check_over(node, by)
        hidden = [(BY, plain(by)), *self._qualifies(select, columns, by)]
        orders = self._orders(select, columns)
        hidden += [(f"{ORDER}{place}", node) for place, (node, _) in enumerate(orders)]
        operator = self.project(self.below, [*columns, *hidden])
        if select.args.get("qualify"):
            operator = self.filter(operator, plain(QUALIFIES))
        if select.args.get("distinct"):
            operator = Distinct(self.project(operator, self._named([*columns, hidden[0]], orders)))
        if orders or select.args.get("limit") or select.args.get("offset"):
            texts = tuple(f"{quoted(f'{ORDER}{n}')}{how}" for n, (_, how) in enumerate(orders))
            limit, offset = _number(select, "limit"), _number(select, "offset") or 0
            operator = Top(operator, BY, texts, limit, offset)
        return self.project(operator, [(name, plain(name)) for name, _ in columns])

    def _named(self, columns: Shown, orders: list[tuple[exp.Expr, str]]) -> Shown:
        extra = [f"{ORDER}{place}" for place in range(len(orders))]
        return [(name, plain(name)) for name in [*(name for name, _ in columns), *extra]]

    def _qualifies(self, select: exp.Select, columns: Shown, by: str) -> Shown:
        clause = select.args.get("qualify")
        if clause is None:
            return []
        condition = _over_columns(clause.this, columns)
        _check_over(condition, by)
        return [(QUALIFIES, condition)]

    def _orders(self, select: exp.Select, columns: Shown) -> list[tuple[exp.Expr, str]]:
        clause = select.args.get("order")
        found = []
        for each in clause.expressions if clause else ():
            node = each.this if isinstance(each, exp.Ordered) else each
            if isinstance(node, exp.Literal) and node.is_int:
                place = int(node.this)
                if not 1 <= place <= len(columns):
                    raise BadQueryError(f"ORDER BY {place}: there are {len(columns)} columns")
                node = columns[place - 1][1]
            descending = isinstance(each, exp.Ordered) and each.args.get("desc")
            nulls = isinstance(each, exp.Ordered) and each.args.get("nulls_first")
            how = f" {'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls else 'LAST'}"
            found.append((_over_columns(node, columns), how))
        return found


def _over_columns(tree: exp.Expr, columns: Shown) -> exp.Expr:
    """Return the expression with the names of the SELECT replaced by what they stand for."""
    meant = {name.lower(): node for name, node in columns}

    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in meant:
            stands_for = meant[node.name.lower()].copy()
            return stands_for if isinstance(stands_for, exp.Column) else exp.paren(stands_for)
        return node

    return tree.copy().transform(replaced)


def _check_over(node: exp.Expr, by: str) -> None:
    """Raise where OVER would look beyond a window."""
    for window in node.find_all(exp.Window):
        named = {each.name.lower() for each in window.args.get("partition_by") or ()}
        if not named & {by.lower(), START, END}:
            raise BadQueryError(
                f"{spark_sql(window)} would look beyond its window",
                hint=f"PARTITION BY {START} too",
                place=place_of(window),
            )


def _number(select: exp.Select, clause: str) -> int | None:
    given = select.args.get(clause)
    if given is None:
        return None
    number = given.expression
    if not (isinstance(number, exp.Literal) and number.is_int):
        raise BadOptionError(f"{clause.upper()} takes a whole number", place=place_of(given))
    return int(number.this)
