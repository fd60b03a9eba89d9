"""Sources of tuples: one file each, listed here."""

from dataclasses import replace

from penstock.engine.interfaces.files import Files
from penstock.engine.interfaces.generator import Generator
from penstock.engine.interfaces.interface import Interface, InterfaceClass, Surroundings
from penstock.engine.interfaces.pushed.push import Push
from penstock.engine.interfaces.replay import Replay
from penstock.engine.interfaces.spark import Spark
from penstock.engine.options import Declared, near_miss, number, read_options
from penstock.errors import UnknownConnectorError
from penstock.model.definitions import Connector, StreamDefinition

INTERFACES: dict[str, InterfaceClass] = {
    "files": Files,
    "generator": Generator,
    "push": Push,
    "replay": Replay,
    "spark": Spark,
}
MAX_REJECTS = "max_rejects"
# Options of every source, which none of them sees: they are about what becomes of its rows.
SHARED = {MAX_REJECTS: Declared(number(least=0, most=1, words="a share from 0 to 1"), 0.01)}


def max_rejects(source: Connector) -> float:
    """Return the share of a stream's rows that may be rejected before the stream counts as lost."""
    given = tuple((name, value) for name, value in source.options if name in SHARED)
    return float(read_options(replace(source, options=given), SHARED)[MAX_REJECTS])


def check(definition: StreamDefinition) -> None:
    """Raise what is wrong with a stream's source; needs no Spark."""
    max_rejects(definition.source)
    _find(definition).check(_own(definition))


def build(definition: StreamDefinition, around: Surroundings) -> Interface:
    """Return the closed interface of a stream, or raise what is wrong with its source."""
    return _find(definition)(_own(definition), around)


def _own(definition: StreamDefinition) -> StreamDefinition:
    """Return a definition with those options alone that are its source's own."""
    source = definition.source
    own = tuple((name, value) for name, value in source.options if name not in SHARED)
    return replace(definition, source=replace(source, options=own))


def _find(definition: StreamDefinition) -> InterfaceClass:
    name = definition.source.name
    if name not in INTERFACES:
        raise UnknownConnectorError(
            f"{definition.name} reads from {name}, and there is no such interface",
            hint=near_miss(name, INTERFACES),
        )
    return INTERFACES[name]
