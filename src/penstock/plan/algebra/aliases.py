"""Names that a SELECT gives its own columns, where its other clauses and columns use them.

Spark looks in SELECT, HAVING and QUALIFY among the columns of FROM first, in ORDER BY among those
of SELECT. After GROUP BY, a column of FROM that is no key is not in sight of HAVING and QUALIFY,
unless inside an aggregate.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import BadQueryError
from penstock.plan.algebra.aggregates import is_aggregate
from penstock.plan.algebra.scope import is_bound, place_of

MOST_NODES = 20_000  # of one column: aliases of aliases can double with every step

Shown = list[tuple[str, exp.Expr]]
Knows = Callable[[exp.Column], bool]


@dataclass(frozen=True, slots=True)
class RowComparison:
    """What compares the rows of a window, over the columns of what gives them.

    The terms of ORDER BY come with their direction.
    """

    orders: tuple[tuple[exp.Expr, str], ...] = ()
    qualify: exp.Expr | None = None

    def written(self, write: Callable[[exp.Expr], exp.Expr]) -> "RowComparison":
        """Return the same over other columns."""
        orders = tuple((write(node), how) for node, how in self.orders)
        return RowComparison(orders, None if self.qualify is None else write(self.qualify))

    @property
    def nodes(self) -> list[exp.Expr]:
        """Return all expressions."""
        return [*(node for node, _ in self.orders), *([self.qualify] if self.qualify else ())]


@dataclass(frozen=True, slots=True)
class Aliases:
    """What the columns of a SELECT stand for; `knows` says whether FROM has a column.

    `keeps` says whether HAVING and QUALIFY can see that column: after GROUP BY it has to be a key.
    """

    shown: Shown
    knows: Knows
    keeps: Knows

    def compared(self, select: exp.Select) -> RowComparison:
        """Return ORDER BY and QUALIFY over the columns of FROM."""
        qualify = select.args.get("qualify")
        orders = [(self._in_order(node), how) for node, how in self._orders(select)]
        return RowComparison(tuple(orders), self.condition(qualify.this) if qualify else None)

    def condition(self, tree: exp.Expr) -> exp.Expr:
        """Return HAVING or QUALIFY over the columns of FROM."""

        def is_own(column: exp.Column) -> bool:
            return self.knows(column) and (inside_aggregate(column) or self.keeps(column))

        return spelled(tree, self._meant, is_own)

    @property
    def _meant(self) -> dict[str, exp.Expr]:
        return {name.lower(): node for name, node in self.shown}

    def _in_order(self, tree: exp.Expr) -> exp.Expr:
        meant = self._meant

        def is_own(column: exp.Column) -> bool:
            stands_for = meant[column.parts[0].name.lower()]
            nested = inside_aggregate(column) and has_aggregate(stands_for)
            return (nested or len(column.parts) > 1) and self.knows(column)

        return spelled(tree, meant, is_own)

    def _orders(self, select: exp.Select) -> list[tuple[exp.Expr, str]]:
        """Return the terms of ORDER BY, with numbers and ALL replaced by columns."""
        clause = select.args.get("order")
        found: list[tuple[exp.Expr, str]] = []
        for each in clause.expressions if clause else ():
            node, how = each.this, _direction(each)
            if self._is_all(node):
                found += [(shown, how) for _, shown in self.shown]
            elif isinstance(node, exp.Literal) and node.is_int:
                found.append((self._at(int(node.this)), how))
            else:
                found.append((node, how))
        return found

    def _is_all(self, node: exp.Expr) -> bool:
        """Say whether a term is the word ALL: a column of that name goes before it."""
        if not isinstance(node, exp.Column) or node.table or node.name.upper() != "ALL":
            return False
        return "all" not in self._meant and not self.knows(node)

    def _at(self, place: int) -> exp.Expr:
        if not 1 <= place <= len(self.shown):
            raise BadQueryError(f"ORDER BY {place}: there are {len(self.shown)} columns")
        return self.shown[place - 1][1]


def laterally(shown: Shown, knows: Knows) -> Shown:
    """Return the columns with the names of earlier ones replaced by what these stand for."""
    meant: dict[str, exp.Expr] = {}
    found: Shown = []
    for name, node in shown:
        written = spelled(node, meant, knows)
        if sum(1 for _ in written.walk()) > MOST_NODES:
            raise BadQueryError(
                f"column {name} is too long with all that its names stand for",
                hint="compute some of them in a SELECT below",
                place=place_of(node),
            )
        found.append((name, written))
        meant[name.lower()] = written
    return found


def spelled(tree: exp.Expr, meant: Mapping[str, exp.Expr], is_own: Knows) -> exp.Expr:
    """Return a copy with names replaced by what they stand for, but for columns that `is_own`."""

    def replaced(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star) or is_bound(node):
            return node
        first, *fields = node.parts
        stands_for = meant.get(first.name.lower())
        if stands_for is None or is_own(node):
            return node
        bare = stands_for.copy()
        bare = bare if isinstance(bare, exp.Column) else exp.paren(bare)
        return exp.Dot.build([bare, *(each.copy() for each in fields)]) if fields else bare

    return tree.copy().transform(replaced)


def inside_aggregate(node: exp.Expr) -> bool:
    """Say whether the node is an argument of an aggregate."""
    above = node.parent
    while above is not None:
        if is_aggregate(above):
            return True
        above = above.parent
    return False


def has_aggregate(node: exp.Expr) -> bool:
    """Say whether an aggregate is called in an expression."""
    return any(is_aggregate(each) for each in node.walk())


def _direction(ordered: exp.Expr) -> str:
    descending, nulls = ordered.args.get("desc"), ordered.args.get("nulls_first")
    return f" {'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls else 'LAST'}"
