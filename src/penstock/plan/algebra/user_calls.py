"""Calls of aggregates that users wrote: found in a tree, and as partials that combine."""

from collections.abc import Mapping

from sqlglot import exp

from penstock.errors import BadQueryError, NotRepeatableError
from penstock.model.functions.user_aggregates import UserAggregate
from penstock.plan.algebra.scope import place_of

MARK = "user_aggregate"


def marked(tree: exp.Expr, known: Mapping[str, UserAggregate]) -> exp.Expr:
    """Return the tree with calls of users' aggregates as such; a parser cannot know them.

    Raise where a query would stand on one that may answer otherwise when it is asked again.
    """

    def replaced(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Anonymous) or (found := known.get(node.name.lower())) is None:
            return node
        if not found.deterministic:
            raise NotRepeatableError(
                f"aggregate {found.name} is declared as not deterministic",
                hint="only a one-time SELECT can call it: a standing query may run again",
                place=place_of(node),
            )
        call = exp.AnonymousAggFunc(this=node.name, expressions=node.expressions)
        call.meta.update(node.meta)
        call.meta[MARK] = found
        return call

    calls = (node for node in tree.find_all(exp.Anonymous) if node.name.lower() in known)
    return tree.transform(replaced) if any(True for _ in calls) else tree


def is_users(call: exp.Expr) -> bool:
    """Say whether a call is of a user's aggregate, with what belongs to it."""
    return any(MARK in node.meta for node in call.walk())


def parts_of(call: exp.Expr, arguments: list[str], where: str) -> tuple[str, str, str] | None:
    """Return a user's aggregate as partial, combination and finish, or None for any other."""
    user: UserAggregate | None = call.meta.get(MARK)
    if user is None:
        return None
    if len(arguments) != len(user.takes) or call.find(exp.Distinct):
        raise BadQueryError(
            f"{user.name} takes ({', '.join(user.takes)})", hint="and no DISTINCT: write it inside"
        )
    fields = ", ".join(
        f"CAST({sql} AS {kind}) AS x{place}"
        for place, (sql, kind) in enumerate(zip(arguments, user.takes, strict=True))
    )
    return (
        f"{user.part('update')}(collect_list(struct({fields})){where})",
        f"{user.part('merge')}(collect_list({{0}}))",
        f"{user.part('finish')}({{0}})",
    )
