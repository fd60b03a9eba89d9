"""What stands after FROM: how a stream's source is checked and made."""

from dataclasses import replace

from penstock.engine.connectors import CONNECTORS
from penstock.engine.connectors.connector import ConnectorKind
from penstock.engine.interfaces.interface import Interface, InterfaceClass, Surroundings
from penstock.engine.options import Declared, near_miss, number, read_options
from penstock.errors import UnknownConnectorError
from penstock.model.definitions import Connector, StreamDefinition

SOURCES = {name: kind for name, kind in CONNECTORS.items() if kind.source is not None}
MAX_REJECTS = "max_rejects"
# Options of every source, which none of them sees: they are about what becomes of its rows.
SHARED = {
    MAX_REJECTS: Declared(
        number(least=0, most=1, words="a share from 0 to 1"),
        0.01,
        about="share of rows that may be rejected before `penstock run` ends with an error",
    )
}


def max_rejects(source: Connector) -> float:
    """Return the share of a stream's rows that may be rejected before the stream counts as lost."""
    given = tuple((name, value) for name, value in source.options if name in SHARED)
    return float(read_options(replace(source, options=given), SHARED)[MAX_REJECTS])


def check(definition: StreamDefinition) -> None:
    """Raise what is wrong with a stream's source; needs no Spark."""
    max_rejects(definition.source)
    kind, source = _find(definition)
    kind.require_installed()
    source.check(_own(definition))


def build(definition: StreamDefinition, around: Surroundings) -> Interface:
    """Return the closed interface of a stream, or raise what is wrong with its source."""
    kind, source = _find(definition)
    kind.require_installed()
    return source(_own(definition), around)


def _own(definition: StreamDefinition) -> StreamDefinition:
    """Return a definition with those options alone that are its source's own."""
    source = definition.source
    own = tuple((name, value) for name, value in source.options if name not in SHARED)
    return replace(definition, source=replace(source, options=own))


def _find(definition: StreamDefinition) -> tuple[ConnectorKind, InterfaceClass]:
    name = definition.source.name
    kind = SOURCES.get(name)
    if kind is None or kind.source is None:
        raise UnknownConnectorError(
            f"{definition.name} reads from {name}, and there is no such interface",
            hint=near_miss(name, SOURCES),
        )
    return kind, kind.source
