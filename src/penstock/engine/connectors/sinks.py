"""What stands after INTO: how a query's sink is checked and made."""

from penstock.engine.connectors import CONNECTORS
from penstock.engine.connectors.connector import ConnectorKind
from penstock.engine.options import near_miss
from penstock.engine.sinks.sink import ALONE, Sink, SinkClass, SinkSurroundings
from penstock.errors import UnknownConnectorError
from penstock.model.definitions import QueryDefinition

SINKS = {name: kind for name, kind in CONNECTORS.items() if kind.sink is not None}


def check(definition: QueryDefinition) -> None:
    """Raise what is wrong with the query's INTO, before anything is opened."""
    if definition.sink is not None:
        kind, sink = _find(definition.sink.name)
        kind.require_installed()
        sink.check(definition)


def build(definition: QueryDefinition, around: SinkSurroundings = ALONE) -> Sink | None:
    """Return the query's closed sink, or None where it has no INTO."""
    if definition.sink is None:
        return None
    kind, sink = _find(definition.sink.name)
    kind.require_installed()
    return sink(definition, around)


def _find(name: str) -> tuple[ConnectorKind, SinkClass]:
    kind = SINKS.get(name)
    if kind is None or kind.sink is None:
        raise UnknownConnectorError(f"there is no sink {name}", hint=near_miss(name, SINKS))
    return kind, kind.sink
