"""The clauses that binding consumes; whatever else the parser read is refused by its name.

sqlglot reads clauses of many dialects, more with every version. A clause that nobody here looks at
would change no answer, so each kind of node at the level of relations declares which of its
arguments are used, and `refuse_unread` raises for the others. Expressions go to Spark as text,
which loses nothing (sql/dialect/printable.py), so the walk ends where they begin.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from penstock.errors import BadQueryError, NotYetError, PenstockError
from penstock.plan.algebra.scope import place_of
from penstock.sql import CLIP, FLOW, spark_sql
from penstock.sql.dialect.trees import CONTEXT, WINDOW


@dataclass(frozen=True, slots=True)
class Consumed:
    """The arguments of a node that binding uses.

    `relations` hold a relation each, `clauses` nodes with arguments of their own, `values` an
    expression, a name or a flag.
    """

    relations: frozenset[str]
    clauses: frozenset[str]
    values: frozenset[str]

    @classmethod
    def of(cls, *, relations: str = "", clauses: str = "", values: str = "") -> "Consumed":
        """Return what words, separated by blanks, name."""
        return cls(*(frozenset(words.split()) for words in (relations, clauses, values)))

    @property
    def names(self) -> frozenset[str]:
        """Return all arguments that are used."""
        return self.relations | self.clauses | self.values


_SETS = Consumed.of(relations="this expression", clauses="with_", values="distinct by_name")
CONSUMED: dict[type[exp.Expr], Consumed] = {
    exp.Select: Consumed.of(
        clauses="with_ distinct from_ joins where group having qualify order limit offset",
        values="expressions windows laterals",
    ),
    exp.Union: _SETS,
    exp.Intersect: _SETS,
    exp.Except: _SETS,
    exp.Subquery: Consumed.of(relations="this", clauses="with_ alias", values=WINDOW),
    exp.Table: Consumed.of(
        clauses="alias", values=f"this db catalog {WINDOW} {CONTEXT} {FLOW} {CLIP}"
    ),
    exp.Values: Consumed.of(clauses="alias", values="expressions"),
    exp.TableAlias: Consumed.of(values="this columns"),
    exp.With: Consumed.of(clauses="expressions"),
    exp.CTE: Consumed.of(relations="this", clauses="alias"),
    exp.From: Consumed.of(relations="this"),
    exp.Join: Consumed.of(relations="this", values="on using side kind method"),
    exp.Where: Consumed.of(values="this"),
    exp.Group: Consumed.of(values="expressions all rollup cube grouping_sets"),
    exp.Having: Consumed.of(values="this"),
    exp.Qualify: Consumed.of(values="this"),
    exp.Distinct: Consumed.of(),
    exp.Order: Consumed.of(clauses="expressions"),
    exp.Ordered: Consumed.of(values="this desc nulls_first"),
    exp.Limit: Consumed.of(values="expression"),
    exp.Offset: Consumed.of(values="expression"),
}

# Clauses of Spark that wait for their operator.
NOT_YET = {
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "pivots": "PIVOT",
    "sample": "TABLESAMPLE",
}
# Arguments whose names are not how their clauses are written.
WRITTEN: dict[tuple[type[exp.Expr], str], str] = {
    (exp.Select, "kind"): "SELECT AS",
    (exp.Distinct, "on"): "DISTINCT ON",
    (exp.Distinct, "expressions"): "DISTINCT ON",
    (exp.Limit, "expressions"): "LIMIT … BY",
    (exp.Limit, "limit_options"): "LIMIT … PERCENT or WITH TIES",
    (exp.Ordered, "with_fill"): "WITH FILL",
    (exp.Order, "siblings"): "ORDER SIBLINGS BY",
    (exp.Group, "totals"): "GROUP BY … WITH TOTALS",
    (exp.With, "recursive"): "WITH RECURSIVE",
    (exp.With, "search"): "SEARCH and CYCLE of WITH",
    (exp.CTE, "key_expressions"): "USING KEY",
    (exp.Table, "joins"): "a JOIN inside another",
    (exp.Subquery, "joins"): "a JOIN inside another",
    (exp.Table, "when"): "AT and BEFORE",
    (exp.Table, "ordinality"): "WITH ORDINALITY",
}
CLAUSES = {
    "hint": "a hint in /*+ … */",
    "hints": "a hint after a table",
    "locks": "FOR UPDATE and FOR SHARE",
    "connect": "CONNECT BY",
    "match": "MATCH_RECOGNIZE",
    "match_condition": "MATCH_CONDITION",
    "order": "ORDER BY",
    "group": "GROUP BY",
    "side": "LEFT, RIGHT and FULL",
    "kind": "CORRESPONDING",
}
HINTS = {
    "joins": "write each ON behind its own JOIN: a JOIN b ON … JOIN c ON …",
    "totals": "write WITH ROLLUP",
    "hint": "leave it out: how a query runs is decided by its statistics",
    "hints": "leave it out: how a query runs is decided by its statistics",
    "version": "a stream is read as it comes; an archive is read by WHERE on its time",
    "materialized": "leave it out: equal SELECTs are computed once",
}


def refuse_unread(tree: exp.Expr) -> None:
    """Raise where a query has a clause, or a relation, that binding would not look at."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        consumed = CONSUMED.get(type(node))
        if consumed is None:
            raise _unknown(node)
        for name, value in node.args.items():
            if not value or name in consumed.values:
                continue
            if name not in consumed.names:
                raise _unread(node, name, value)
            waiting += [each for each in _nodes(value) if isinstance(each, exp.Expr)]


def _nodes(value: Any) -> Iterator[Any]:
    yield from value if isinstance(value, list) else [value]


def _unknown(node: exp.Expr) -> PenstockError:
    if isinstance(node, exp.Query | exp.UDTF | exp.Func):
        return NotYetError(f"FROM {spark_sql(node)} does not run yet", place=place_of(node))
    return BadQueryError(f"{node.key.upper()} over streams does not run", place=place_of(node))


def _unread(node: exp.Expr, name: str, value: Any) -> PenstockError:
    written = _written(node, name, value)
    places = (place_of(each) for each in _nodes(value) if isinstance(each, exp.Expr))
    place = next((each for each in places if each is not None), place_of(node))
    if isinstance(node, exp.SetOperation) and name not in NOT_YET:
        message, hint = f"{written} over {node.key.upper()} of streams", "give each SELECT its own"
        return BadQueryError(message, hint=hint, place=place)
    if isinstance(node, exp.Subquery) and name not in (*NOT_YET, "joins"):
        message = f"{written} after a SELECT in brackets"
        return BadQueryError(message, hint="write it inside", place=place)
    if name in NOT_YET:
        return NotYetError(f"{written} over streams does not run yet", place=place)
    return BadQueryError(
        f"{written} over streams does not run", hint=HINTS.get(name, ""), place=place
    )


def _written(node: exp.Expr, name: str, value: Any) -> str:
    """Return how a user would call the clause."""
    first = next(_nodes(value))
    if isinstance(first, exp.Version):
        return f"{first.name} {first.args['kind']}"
    if isinstance(first, exp.Pivot) and first.args.get("unpivot"):
        return "UNPIVOT"
    known = WRITTEN.get((type(node), name)) or NOT_YET.get(name) or CLAUSES.get(name)
    return known or name.strip("_").replace("_", " ").upper()
