"""Sources of tuples: one file each, listed here."""

from penstock.engine.interfaces.files import Files
from penstock.engine.interfaces.generator import Generator
from penstock.engine.interfaces.interface import Interface, InterfaceClass, Surroundings
from penstock.engine.interfaces.push import Push
from penstock.engine.interfaces.replay import Replay
from penstock.engine.interfaces.spark import Spark
from penstock.engine.options import near_miss
from penstock.errors import UnknownConnectorError
from penstock.model.definitions import StreamDefinition

INTERFACES: dict[str, InterfaceClass] = {
    "files": Files,
    "generator": Generator,
    "push": Push,
    "replay": Replay,
    "spark": Spark,
}


def check(definition: StreamDefinition) -> None:
    """Raise what is wrong with a stream's source; needs no Spark."""
    _find(definition).check(definition)


def build(definition: StreamDefinition, around: Surroundings) -> Interface:
    """Return the closed interface of a stream, or raise what is wrong with its source."""
    return _find(definition)(definition, around)


def _find(definition: StreamDefinition) -> InterfaceClass:
    name = definition.source.name
    if name not in INTERFACES:
        raise UnknownConnectorError(
            f"{definition.name} reads from {name}, and there is no such interface",
            hint=near_miss(name, INTERFACES),
        )
    return INTERFACES[name]
