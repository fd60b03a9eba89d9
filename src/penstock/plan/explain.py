"""EXPLAIN: the plan as it runs, drawn from the same units that the runtime walks."""

from collections.abc import Iterator, Mapping, Sequence

from penstock.plan.graph import Graph
from penstock.plan.operators import (
    HopJoin,
    KeyedRows,
    Modify,
    Operator,
    RowsJoin,
    SessionAggregate,
    WhenAggregate,
    WindowJoin,
    key,
)
from penstock.plan.units import Unit

STEPPING = (WindowJoin, RowsJoin, HopJoin, Modify, SessionAggregate, KeyedRows, WhenAggregate)


def explain(query: str, root: Operator, graph: Graph, units: Sequence[Unit]) -> str:
    """Return the query's operators, who shares them, and the units with their Spark SQL."""
    lines = [f"query {query}", *_tree(root, query, graph.queries_of(), "")]
    mine = [unit for unit in units if query in graph.queries_of().get(unit.key, ())]
    for unit in mine:
        lines += ["", *_unit_lines(unit)]
    if not mine:
        lines += ["", "no unit: the rows of the stream are delivered as they come"]
    return "\n".join(lines)


def _tree(
    node: Operator, query: str, queries_of: Mapping[str, list[str]], indent: str
) -> Iterator[str]:
    others = [each for each in queries_of.get(key(node), ()) if each != query]
    shared = f"   (shared with {', '.join(others)})" if others else ""
    yield f"{indent}{key(node)[:6]} {node.text()}{shared}"
    for each in node.inputs:
        yield from _tree(each, query, queries_of, indent + "  ")


def _unit_lines(unit: Unit) -> Iterator[str]:
    views = {name: f"trains_{name[:6]}" for name in unit.inputs}
    yield f"unit {unit.key[:6]} reads the trains of {', '.join(n[:6] for n in unit.inputs)}"
    if unit.aggregate is None:
        for place, _ in enumerate(unit.stateful.inputs if unit.stateful else ()):
            yield f"  each train:  {unit.input_sql(place, views)}"
        if unit.stateful is None:
            yield f"  each train:  {unit.rows_sql(views)}"
        elif isinstance(unit.stateful, STEPPING):
            yield from (f"  {when:<11}  {sql}" for when, sql in unit.stateful.steps_sql())
        else:
            yield f"  then:        {unit.stateful.text()}"
    else:
        yield f"  each train:  {unit.pane_sql(views)}"
        yield f"  at a close:  {unit.close_sql('partials', (0, 0))}"
