"""Lifted: a join that stands as a SELECT in FROM, as an input with a name.

Between it and what aggregates its pairs trains are cut in any case, so that a gate has its place
there. Other SELECTs inside stay where they are: a gate above them would be a job more.
"""

from dataclasses import replace

from sqlglot import exp

from penstock.plan.operators import walk
from penstock.plan.relations.bind_names import names_in_list
from penstock.plan.relations.sources import StreamSource, with_name
from penstock.plan.select.bind import Binder
from penstock.plan.shedding.gated import PAIRS, gates_above
from penstock.plan.windows.bind_aggregate import ONCE
from penstock.sql import window_of


def lifted(binder: Binder, tree: exp.Select) -> tuple[Binder, exp.Select]:
    """Return a SELECT over a join in FROM as one over its alias, and the binder that knows that."""
    node = tree.args["from_"].this if tree.args.get("from_") else None
    if not isinstance(node, exp.Subquery) or not node.alias:
        return binder, tree
    if tree.args.get("joins") or names_in_list(node):
        return binder, tree
    inner = replace(binder, emission=ONCE).bind(node.this)
    if gates_above(inner) or not any(isinstance(each, PAIRS) for each in walk(inner)):
        return binder, tree
    above = tree.copy()
    table = exp.Table(this=exp.to_identifier(node.alias, quoted=True))
    table.set("window", window_of(node))
    above.args["from_"].set("this", table)
    known = with_name(binder.lookup, node.alias, StreamSource(inner))
    return replace(binder, lookup=known), above
