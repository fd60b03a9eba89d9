"""Where results go: one file a sink, one registry; see sink.py for what they promise."""

from penstock.engine.options import near_miss
from penstock.engine.sinks.console import ConsoleSink
from penstock.engine.sinks.files import FilesSink
from penstock.engine.sinks.sink import Sink, SinkClass
from penstock.errors import UnknownConnectorError
from penstock.model.definitions import QueryDefinition

SINKS: dict[str, SinkClass] = {
    "console": ConsoleSink,
    "files": FilesSink,
}


def check(definition: QueryDefinition) -> None:
    """Raise what is wrong with the query's INTO, before anything is opened."""
    if definition.sink is not None:
        _class_of(definition.sink.name).check(definition)


def build(definition: QueryDefinition) -> Sink | None:
    """Return the query's closed sink, or None where it has no INTO."""
    if definition.sink is None:
        return None
    return _class_of(definition.sink.name)(definition)


def _class_of(name: str) -> SinkClass:
    if name not in SINKS:
        raise UnknownConnectorError(f"there is no sink {name}", hint=near_miss(name, SINKS))
    return SINKS[name]
