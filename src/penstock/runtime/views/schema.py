"""The schema `system`: SHOW x is all of `system.x`."""

import pyarrow as pa

from penstock.runtime.system.inspected import Inspected
from penstock.runtime.views.relations.contracts import LOAD, QOS
from penstock.runtime.views.relations.definitions import FUNCTIONS, TABLES, TYPES
from penstock.runtime.views.relations.events import EVENTS
from penstock.runtime.views.relations.operators import OPERATORS
from penstock.runtime.views.relations.properties import PROPERTIES
from penstock.runtime.views.relations.queries import QUERIES
from penstock.runtime.views.relations.rules import RULES
from penstock.runtime.views.relations.sharing import SHARING
from penstock.runtime.views.relations.sites import SITES
from penstock.runtime.views.relations.strategy import STRATEGY
from penstock.runtime.views.relations.streams import STREAMS

VIEWS = {
    view.name: view
    for view in (
        EVENTS,
        FUNCTIONS,
        LOAD,
        OPERATORS,
        PROPERTIES,
        QOS,
        QUERIES,
        RULES,
        SHARING,
        SITES,
        STRATEGY,
        STREAMS,
        TABLES,
        TYPES,
    )
}


def show(of: Inspected, what: str) -> pa.Table:
    """Return all rows of a view, whatever the case of its name."""
    return VIEWS[what.lower()].table(of)
