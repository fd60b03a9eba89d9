"""The WINDOW clause: each OVER that names a window gets what the clause says of it."""

from collections.abc import Mapping

from sqlglot import exp

from penstock.errors import BadQueryError
from penstock.plan.algebra.scope import place_of

PARTS = ("partition_by", "order", "spec")


def with_windows_spelt_out(select: exp.Select) -> exp.Select:
    """Return the SELECT without a WINDOW clause."""
    clause = select.args.get("windows")
    if not clause and not any(_name(node) for node in select.find_all(exp.Window)):
        return select
    made = select.copy()
    named: dict[str, exp.Expr] = {}
    for each in made.args.pop("windows", None) or ():
        name = each.name.lower()
        if name in named:
            raise BadQueryError(f"two windows are called {each.name}", place=place_of(each))
        _spell_out(each, named)
        named[name] = each
    for node in list(made.find_all(exp.Window)):
        _spell_out(node, named)
    return made


def _name(node: exp.Expr) -> str:
    alias = node.args.get("alias")
    return str(alias.name) if alias is not None else ""


def _spell_out(node: exp.Expr, named: Mapping[str, exp.Expr]) -> None:
    """Give a window what the one that it names has; what it says itself comes on top."""
    name = _name(node)
    if not name:
        return
    meant = named.get(name.lower())
    if meant is None:
        raise BadQueryError(
            f"no window {name}", hint="WINDOW name AS (…) stands after HAVING", place=place_of(node)
        )
    for part in PARTS:
        value = meant.args.get(part)
        if value and node.args.get(part):
            raise BadQueryError(
                f"OVER ({name} …) says anew what {name} says",
                hint="say it once",
                place=place_of(node),
            )
        if value:
            copied = [each.copy() for each in value] if isinstance(value, list) else value.copy()
            node.set(part, copied)
    node.set("alias", None)
