"""Relations that are written out: VALUES, and SELECTs over nothing else."""

from sqlglot import exp

from penstock.plan.relations.bind_names import names_in_list
from penstock.plan.relations.sources import Analyst, TableSource
from penstock.sql import spark_sql


def is_constant(tree: exp.Expr) -> bool:
    """Say whether a relation reads nothing but VALUES."""
    return tree.find(exp.Values) is not None and tree.find(exp.Table) is None


def constant_source(tree: exp.Expr, named: exp.Expr, analyst: Analyst) -> TableSource:
    """Return the rows as a table to join with; `named` has its name and a list of columns."""
    inner = tree.copy()
    inner.set("alias", None)
    rows = f"SELECT * FROM ({spark_sql(inner)})" if isinstance(tree, exp.Query) else ""
    rows = rows or f"SELECT * FROM {spark_sql(inner)}"
    columns = ", ".join(f"`{each.name.replace('`', '``')}`" for each in names_in_list(named))
    if columns:
        rows = f"{rows} AS t ({columns})"
    return TableSource(named.alias, 0, analyst.schema(rows, {}), rows)
