"""From a SELECT of Spark SQL to a relation, where Arrow answers all of it exactly as Spark does.

    FROM (WHERE) (GROUP BY or explode(sequence(…))) columns, UNION ALL, and one join by equality

Everything else is None, and Spark is asked (docs/decisions/0044).
"""

import functools
from collections.abc import Iterator, Mapping

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from penstock.plan.arrow.read_value import ORDERED, Scope, condition_of, value_of
from penstock.plan.arrow.relations import (
    Append,
    Field,
    Group,
    Match,
    Pick,
    Relation,
    Shape,
    Spread,
    Total,
    View,
)
from penstock.plan.arrow.values import WHOLE, Call, Const, NotPlainError, Ref, Value, coerced

MOST_DEPTH = 150  # a level takes up to four calls, of which Python has 1,000
PLAIN_PARTS = {"expressions", "from_", "where", "group", "joins", "hint"}
KINDS = {
    ("", ""): "INNER",
    ("", "INNER"): "INNER",
    ("LEFT", ""): "LEFT",
    ("LEFT", "SEMI"): "LEFT SEMI",
    ("LEFT", "ANTI"): "LEFT ANTI",
}
TOTALS: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Min: "min",
    exp.Max: "max",
}
Known = Mapping[str, tuple[Field, ...]]
Columns = tuple[tuple[str, str, str], ...]


@functools.lru_cache(maxsize=4096)
def read_select(sql: str, views: tuple[tuple[str, tuple[Field, ...]], ...]) -> Relation | None:
    """Return the steps of a SELECT over views with these columns, or None where Spark is asked."""
    try:
        tree = parse_one(sql, read="spark")
        return None if _is_deep(tree) else _query(tree, dict(views))
    except (NotPlainError, SqlglotError, RecursionError):
        return None


def _is_deep(tree: exp.Expr) -> bool:
    """Say whether a tree is too deep to be read and answered by functions that call themselves.

    By a bound of its own, since how much of Python's is left depends on who asks.
    """
    level = [tree]
    for _ in range(MOST_DEPTH):
        level = [each for node in level for each in node.iter_expressions()]
    return bool(level)


def _query(tree: exp.Expr, known: Known) -> Relation:
    match tree:
        case exp.Subquery() if _has_only(tree, {"this", "alias"}):
            return _query(tree.this, known)
        case exp.Union() if not tree.args.get("distinct"):
            return _appended(tree, known)
        case exp.Select() if _has_only(tree, PLAIN_PARTS):
            return _select(tree, known)
        case _:
            raise NotPlainError


def _has_only(tree: exp.Expr, parts: set[str]) -> bool:
    return {name for name, value in tree.args.items() if value} <= parts


def _appended(tree: exp.Union, known: Known) -> Relation:
    if not _has_only(tree, {"this", "expression"}):
        raise NotPlainError
    first, second = _query(tree.this, known), _query(tree.expression, known)
    if [type_ for _, type_ in first.fields] != [type_ for _, type_ in second.fields]:
        raise NotPlainError
    inputs = first.inputs if isinstance(first, Append) else (first,)
    return Append((*inputs, second), first.fields)


def _select(tree: exp.Select, known: Known) -> Relation:
    relation, columns = _source(tree, known)
    where, group = tree.args.get("where"), tree.args.get("group")
    if where is not None:
        condition = condition_of(where.this, Scope(columns))
        relation = Pick(relation, condition, relation.fields)
    if group is not None:
        return _grouped(tree, group, relation, Scope(columns))
    if any(each.find(*TOTALS) for each in tree.expressions):
        raise NotPlainError
    if (spread := _spread(tree, relation, columns)) is not None:
        return spread
    return _shaped(relation, _items(tree, Scope(columns)))


def _source(tree: exp.Select, known: Known) -> tuple[Relation, Columns]:
    origin = tree.args.get("from_")
    if origin is None:
        raise NotPlainError
    left, columns = _named(origin.this, known)
    joins = tree.args.get("joins") or []
    if not joins:
        return left, columns
    if len(joins) > 1 or not _has_only(joins[0], {"this", "kind", "side", "on"}):
        raise NotPlainError
    return _joined(left, columns, joins[0], known)


def _named(tree: exp.Expr, known: Known) -> tuple[Relation, Columns]:
    """Return a relation, and its columns under the name that it is given."""
    if isinstance(tree, exp.Table):
        if not _has_only(tree, {"this", "alias"}) or tree.name not in known:
            raise NotPlainError
        found: Relation = View(tree.name, known[tree.name])
    else:
        found = _query(tree, known)
    if (alias := tree.args.get("alias")) is not None and alias.args.get("columns"):
        raise NotPlainError
    name = tree.alias or (tree.name if isinstance(tree, exp.Table) else "")
    return found, tuple((name, *each) for each in found.fields)


def _joined(
    left: Relation, columns: Columns, join: exp.Join, known: Known
) -> tuple[Relation, Columns]:
    right, others = _named(join.this, known)
    kind = KINDS.get((join.side.upper(), join.kind.upper()))
    if kind is None or join.args.get("on") is None:
        raise NotPlainError
    scope, width = Scope((*columns, *others)), len(columns)
    asked = [(each, _key(each, scope, width)) for each in _conjuncts(join.args["on"])]
    keys = tuple(key for _, key in asked if key is not None)
    rest = [condition_of(each, scope) for each, key in asked if key is None]
    if not keys or (rest and kind != "INNER"):
        raise NotPlainError
    met = columns if kind in ("LEFT SEMI", "LEFT ANTI") else scope.columns
    fields = tuple((name, type_) for _, name, type_ in met)
    found: Relation = Match(left, right, keys, kind, fields)
    for condition in rest:
        found = Pick(found, condition, fields)
    return found, met


def _conjuncts(tree: exp.Expr) -> Iterator[exp.Expr]:
    match tree:
        case exp.Paren():
            yield from _conjuncts(tree.this)
        case exp.And():
            yield from _conjuncts(tree.this)
            yield from _conjuncts(tree.expression)
        case _:
            yield tree


def _key(tree: exp.Expr, scope: Scope, width: int) -> tuple[int, int] | None:
    """Return the places of a column of the left side and of the one that it must be equal to."""
    if not isinstance(tree, exp.EQ):
        return None
    sides = [value_of(each, scope) for each in (tree.this, tree.expression)]
    refs = sorted((each for each in sides if isinstance(each, Ref)), key=lambda each: each.place)
    match refs:
        case [Ref(one, type_), Ref(other, same)] if one < width <= other:
            alike = type_ == same or {type_, same} <= set(WHOLE)
            if alike and type_ in ORDERED and type_ != "double":
                return one, other - width
    return None


Item = tuple[str, Value]


def _items(tree: exp.Select, scope: Scope) -> list[Item]:
    return [item for each in tree.expressions for item in _item(each, scope)]


def _item(tree: exp.Expr, scope: Scope) -> Iterator[Item]:
    match tree:
        case exp.Star() if _has_only(tree, set()):
            yield from _all(scope, None)
        case exp.Column(this=exp.Star()) if _has_only(tree.this, set()):
            yield from _all(scope, tree.table)
        case exp.Column():
            yield tree.name, value_of(tree, scope)
        case exp.Alias():
            yield tree.alias, value_of(tree.this, scope)
        case _:
            raise NotPlainError


def _all(scope: Scope, table: str | None) -> Iterator[Item]:
    for place, (of, name, type_) in enumerate(scope.columns):
        if table is None or of.lower() == table.lower():
            yield name, Ref(place, type_)


def _shaped(relation: Relation, items: list[Item]) -> Relation:
    names = [name.lower() for name, _ in items]
    if len(set(names)) < len(names):  # what stands above could not tell them apart
        raise NotPlainError
    fields = tuple((name, value.type) for name, value in items)
    if fields == relation.fields and [value for _, value in items] == _as_it_is(relation):
        return relation
    return Shape(relation, tuple(value for _, value in items), fields)


def _as_it_is(relation: Relation) -> list[Ref]:
    return [Ref(place, type_) for place, (_, type_) in enumerate(relation.fields)]


def _spread(tree: exp.Select, relation: Relation, columns: Columns) -> Relation | None:
    """Return a SELECT that explodes a sequence of numbers; None where it does not."""
    found = [each for each in tree.expressions if each.find(exp.Explode)]
    if not found:
        return None
    exploded = found[0].this if isinstance(found[0], exp.Alias) else None
    if len(found) > 1 or not isinstance(exploded, exp.Explode) or exploded.expressions:
        raise NotPlainError
    first, last = _bounds(exploded.this, Scope(columns))
    fields = (*relation.fields, (found[0].alias, "bigint"))
    wide = Spread(relation, first, last, fields)
    number = Ref(len(relation.fields), "bigint")
    scope = Scope(columns, {exploded: number})
    return _shaped(wide, _items(tree, scope))


def _bounds(tree: exp.Expr, scope: Scope) -> tuple[Value, Value]:
    """Return the ends of CASE WHEN low <= high THEN sequence(low, high, 1) END."""
    arms = tree.args["ifs"] if isinstance(tree, exp.Case) and _has_only(tree, {"ifs"}) else []
    numbers = arms[0].args["true"] if len(arms) == 1 else None
    if not isinstance(numbers, exp.GenerateSeries):
        raise NotPlainError
    low, high, step = (numbers.args.get(each) or exp.Null() for each in ("start", "end", "step"))
    if arms[0].this != exp.LTE(this=low.copy(), expression=high.copy()):
        raise NotPlainError
    first, last, by = (coerced(value_of(each, scope), "bigint") for each in (low, high, step))
    if by != Const(1, "bigint"):
        raise NotPlainError
    return first, last


def _grouped(tree: exp.Select, group: exp.Group, relation: Relation, scope: Scope) -> Relation:
    if not _has_only(group, {"expressions"}):
        raise NotPlainError
    keys = [_grouping(each, tree) for each in group.expressions]
    values = [value_of(each, scope) for each in keys]
    found: dict[exp.Expr, Total] = {}
    for item in tree.expressions:
        found |= {each: _total(each, scope) for each in _aggregates(item)}
    types = [each.type for each in (*values, *found.values())]
    known = {each: Ref(at, types[at]) for at, each in enumerate((*keys, *found))}
    fields = tuple((str(place), type_) for place, type_ in enumerate(types))
    grouped = Group(relation, tuple(values), tuple(found.values()), fields)
    return _shaped(grouped, _items(tree, Scope((), known)))


def _grouping(tree: exp.Expr, select: exp.Select) -> exp.Expr:
    """Return the expression that a GROUP BY means: a column, or an item by its number."""
    if isinstance(tree, exp.Literal) and not tree.is_string:
        item: exp.Expr = select.expressions[int(tree.this) - 1]
        return item.unalias()
    if not isinstance(tree, exp.Column):
        raise NotPlainError
    return tree


def _aggregates(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the aggregates in an item, each with its FILTER."""
    for node in tree.find_all(*TOTALS):
        yield node.parent if isinstance(node.parent, exp.Filter) else node


def _total(tree: exp.Expr, scope: Scope) -> Total:
    condition = None
    if isinstance(tree, exp.Filter):
        condition, tree = condition_of(tree.expression.this, scope), tree.this
    function = TOTALS[type(tree)]
    if not _has_only(tree, {"this", "big_int"}):
        raise NotPlainError
    value = _totalled(tree, function, scope)
    if condition is not None:
        value = value or Const(True, "boolean")
        value = Call("if", (condition, value, Const(None, value.type)), value.type)
    return Total(function, value, _type_of_total(function, value))


def _totalled(tree: exp.Expr, function: str, scope: Scope) -> Value | None:
    if function == "count" and isinstance(tree.this, exp.Star):
        return None
    value = value_of(tree.this, scope)
    if function == "count" and isinstance(value, Const) and value.value is not None:
        return None
    if value.type not in ORDERED:
        raise NotPlainError
    return coerced(value, "bigint") if function == "sum" and value.type in WHOLE else value


def _type_of_total(function: str, value: Value | None) -> str:
    if function == "count" or value is None:
        return "bigint"
    if function == "sum" and value.type not in ("bigint", "double"):
        raise NotPlainError
    return value.type
