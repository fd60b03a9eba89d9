"""Names that a FROM gives or finds: WITH x (a, b) AS …, FROM … AS x (a, b), NATURAL JOIN."""

from collections.abc import Iterable, Sequence

from sqlglot import exp

from penstock.errors import BadQueryError
from penstock.model.schema import Column, Schema, quoted
from penstock.plan.algebra.scope import place_of
from penstock.plan.operators import EventTime, Operator, Project


def names_in_list(node: exp.Expr) -> list[exp.Expr]:
    """Return the names that a list after an alias gives the columns."""
    alias = node.args.get("alias")
    return list(alias.args.get("columns") or ()) if isinstance(alias, exp.TableAlias) else []


def renamed(operator: Operator, names: list[exp.Expr]) -> Operator:
    """Return the operator with other names for all of its columns, or as it is without a list."""
    if not names:
        return operator
    if len(names) != len(operator.schema):
        raise BadQueryError(
            f"the list names {len(names)} columns, and there are {len(operator.schema)}",
            place=place_of(names[0]),
        )
    refuse_twins(each.name for each in names)
    new = {column.name: each.name for column, each in zip(operator.schema, names, strict=True)}
    return Project(
        operator,
        tuple((name, quoted(old)) for old, name in new.items()),
        Schema(tuple(Column(new[column.name], column.type) for column in operator.schema)),
        tuple(EventTime(new[time.column], time.offset) for time in operator.times),
    )


def without_natural(select: exp.Select, columns: Sequence[Sequence[str]]) -> exp.Select:
    """Return the SELECT with every NATURAL JOIN as one USING what both sides have.

    `columns` are those of each input of FROM.
    """
    if not any(map(_is_natural, select.args.get("joins") or ())):
        return select
    select = select.copy()
    for place, join in enumerate(select.args["joins"], 1):
        if _is_natural(join):
            right = {name.lower() for name in columns[place]}
            left = dict.fromkeys(name.lower() for each in columns[:place] for name in each)
            if not (common := [name for name in left if name in right]):
                raise BadQueryError("NATURAL JOIN of inputs without a column in common")
            join.set("using", [exp.to_identifier(name, quoted=True) for name in common])
            join.set("method", None)
    return select


def _is_natural(join: exp.Join) -> bool:
    return str(join.args.get("method") or "").upper() == "NATURAL"


def refuse_twins(names: Iterable[str]) -> None:
    """Raise where two columns have one name."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise BadQueryError(f"two columns are called {name}", hint="give one of them AS a name")
        seen.add(name.lower())
