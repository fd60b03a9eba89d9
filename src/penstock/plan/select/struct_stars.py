"""`s.*` where s is a struct: its fields, one by one."""

from collections.abc import Callable, Iterable, Iterator

from sqlglot import exp

from penstock.plan.algebra.scope import Scope
from penstock.sql import spark_sql

Fields = Callable[[str], Iterable[str]]  # the fields of a struct, which is SQL


def with_fields(nodes: Iterable[exp.Expr], scope: Scope, fields: Fields) -> Iterator[exp.Expr]:
    """Yield the columns of a SELECT, stars of structs spelt out; other stars stay."""
    for node in nodes:
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Star):
            yield node
            continue
        *path, _ = node.parts
        if len(path) == 1 and scope.has(path[0].name):
            yield node
            continue
        names = zip(("this", "table", "db", "catalog"), reversed(path), strict=False)
        struct = exp.Column(**{part: name.copy() for part, name in names})
        left_out = {each.name.lower() for each in node.this.args.get("except_") or ()}
        for name in fields(spark_sql(scope.resolve(struct))):
            if name.lower() not in left_out:
                field = exp.to_identifier(name, quoted=True)
                yield exp.alias_(exp.Dot.build([struct.copy(), field]), name, quoted=True)
