"""EXPLAIN: the plan as it runs, drawn from the same units that the runtime walks."""

from collections.abc import Iterator, Mapping, Sequence

from penstock.model.own_names import readable
from penstock.plan.explain.abridged import few
from penstock.plan.explain.explain_bundle import bundle_lines
from penstock.plan.operators import (
    Flow,
    HopJoin,
    KeyedRows,
    Modify,
    ObliviousJoin,
    Operator,
    RowsJoin,
    SessionAggregate,
    WhenAggregate,
    WindowJoin,
    key,
)
from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.units import Unit

STEPPING = (
    WindowJoin,
    RowsJoin,
    ObliviousJoin,
    HopJoin,
    Modify,
    SessionAggregate,
    KeyedRows,
    WhenAggregate,
)


def explain(query: str, root: Operator, graph: Graph, units: Sequence[Unit]) -> str:
    """Return the query's operators, who shares them, and the units with their Spark SQL."""
    lines = [f"query {query}", *_tree(root, query, graph.queries_of(), "")]
    read = units_behind(root, units)
    for name, unit in read:
        lines += ["", *unit_lines(unit, graph, name)]
    if not read:
        lines += ["", "no unit: the rows of the stream are delivered as they come"]
    return readable("\n".join(lines))


def units_behind(root: Operator, units: Sequence[Unit]) -> list[tuple[str, Unit]]:
    """Return the units that make an answer, inputs first, each with a root of it that is read."""
    writers = {key(each): unit for unit in units for each in unit.roots}
    found: dict[str, tuple[str, Unit]] = {}

    def visit(name: str) -> None:
        if (unit := writers.get(name)) is not None and unit.key not in found:
            for each in unit.inputs:
                visit(each)
            found[unit.key] = (name, unit)

    visit(key(root))
    return list(found.values())


def _tree(
    node: Operator, query: str, queries_of: Mapping[str, list[str]], indent: str
) -> Iterator[str]:
    others = [each for each in queries_of.get(key(node), ()) if each != query]
    shared = f"   (shared with {few(others)})" if others else ""
    yield f"{indent}{key(node)[:6]} {node.text()}{shared}"
    for each in node.inputs:
        yield from _tree(each, query, queries_of, indent + "  ")


def unit_lines(unit: Unit, graph: Graph, read: str) -> Iterator[str]:
    """Yield what a unit runs; of a bundle, also what it does for the member that is read."""
    views = {name: f"trains_{name[:6]}" for name in unit.inputs}
    if unit.bundle is not None:
        yield from bundle_lines(unit, graph, read, views)
        return
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
        if isinstance(unit.stateful, Flow):
            yield from (f"  {line}" for line in unit.stateful.stages.lines())
    else:
        yield f"  each train:  {unit.pane_sql(views)}"
        yield f"  at a close:  {unit.close_sql('partials', (0, 0))}"
