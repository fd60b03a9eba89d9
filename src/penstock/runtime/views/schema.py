"""The schema `system`: SHOW x is all of `system.x`."""

from collections.abc import Iterator

import pyarrow as pa

from penstock.runtime.views.inspected import Inspected
from penstock.runtime.views.relations.connectors import CONNECTOR_OPTIONS, CONNECTORS
from penstock.runtime.views.relations.contracts import CONTRACTS, LOAD, QOS
from penstock.runtime.views.relations.dead_letters import DEAD_LETTERS
from penstock.runtime.views.relations.definitions import DEFINITIONS, FUNCTIONS, TABLES, TYPES
from penstock.runtime.views.relations.events import EVENTS
from penstock.runtime.views.relations.grids import BASES, PERSPECTIVES
from penstock.runtime.views.relations.history import HISTORY
from penstock.runtime.views.relations.properties import PROPERTIES
from penstock.runtime.views.relations.queries import LATENCIES, QUERIES
from penstock.runtime.views.relations.rules import RULES
from penstock.runtime.views.relations.streams import STREAMS
from penstock.runtime.views.relations.topology.buffers import BUFFERS, TRAINS
from penstock.runtime.views.relations.topology.joins import JOINS
from penstock.runtime.views.relations.topology.operators import OPERATORS
from penstock.runtime.views.relations.topology.sharing import SHARING
from penstock.runtime.views.relations.topology.sites import SITES
from penstock.runtime.views.relations.topology.strategy import STRATEGY
from penstock.runtime.views.relations.topology.units import UNITS
from penstock.runtime.views.view import Row, View, columns


def view_rows() -> Iterator[Row]:
    """Yield a row for every view."""
    for view in VIEWS.values():
        yield {"view": view.name, "about": view.about, "columns": view.ddl()}


CATALOGUE = View(
    "views",
    "the views there are, and their columns",
    columns("view STRING, about STRING, columns STRING"),
    lambda _: view_rows(),
)
VIEWS = {
    view.name: view
    for view in (
        BASES,
        BUFFERS,
        CATALOGUE,
        CONNECTORS,
        CONNECTOR_OPTIONS,
        CONTRACTS,
        DEAD_LETTERS,
        DEFINITIONS,
        EVENTS,
        FUNCTIONS,
        HISTORY,
        JOINS,
        LATENCIES,
        LOAD,
        OPERATORS,
        PERSPECTIVES,
        PROPERTIES,
        QOS,
        QUERIES,
        RULES,
        SHARING,
        SITES,
        STRATEGY,
        STREAMS,
        TABLES,
        TRAINS,
        TYPES,
        UNITS,
    )
}


def show(of: Inspected, what: str) -> pa.Table:
    """Return all rows of a view, whatever the case of its name."""
    return VIEWS[what.lower()].table(of)
