"""[PARTITION BY k ROWS r SLIDE h]: from the window to its operator."""

from dataclasses import replace

from penstock.errors import UnknownColumnError
from penstock.model.schema import Schema
from penstock.model.windows import RowsWindow
from penstock.plan.algebra.mentioned import mentioned
from penstock.plan.operators import Filter, KeyedRows, Operator
from penstock.plan.relations.sources import LEAF, Analyst
from penstock.plan.windows.asked import RequestedAggregates


def make(
    window: RowsWindow,
    below: Operator,
    asked: RequestedAggregates,
    analyst: Analyst,
) -> Operator:
    """Return the operator that answers for each partition's windows.

    What lies below is in order, maybe with the SELECT's WHERE above: that chooses among the
    tuples of a window and does not move it.
    """
    ordered, holds = (below.input, below.conditions) if isinstance(below, Filter) else (below, ())
    texts = [*(sql for _, sql in asked.keys), *asked.partials()]
    bare = KeyedRows(
        ordered,
        tuple(_column(name, ordered.schema) for name in window.partition_by),
        window.rows,
        window.slide or window.rows,
        holds,
        asked.keys,
        asked.aggregates,
        mentioned(texts, ordered.schema),
        Schema(),
        asked.sets,
    )
    return replace(bare, schema=analyst.schema(bare.sql([LEAF]), {LEAF: ordered.schema}))


def _column(name: str, schema: Schema) -> str:
    if (found := schema.find(name)) is None:
        raise UnknownColumnError(
            f"no column {name} to partition by", hint=f"there are: {', '.join(schema.names[:-1])}"
        )
    return found.name
