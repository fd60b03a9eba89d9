"""What a connector says of itself: one declaration, from which everything else is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from penstock.engine.interfaces.interface import InterfaceClass
from penstock.engine.options import Declared
from penstock.engine.sinks.sink import SinkClass
from penstock.errors import NotInstalledError


@dataclass(frozen=True, slots=True)
class ConnectorKind:
    """A name that SQL may write after FROM of a stream or a table, after INTO, or several of these.

    Packages that only it needs come with the extra `extra`; `modules` are what it imports of them.
    """

    name: str
    about: str
    source: InterfaceClass | None = None
    source_options: Mapping[str, Declared] = field(default_factory=dict)
    sink: SinkClass | None = None
    sink_options: Mapping[str, Declared] = field(default_factory=dict)
    table_options: Mapping[str, Declared] | None = None
    extra: str = ""
    modules: tuple[str, ...] = ()

    @property
    def missing(self) -> str:
        """Return the first module that it needs and that is not installed, or nothing."""
        return next((name for name in self.modules if not _is_there(name)), "")

    @property
    def remedy(self) -> str:
        """Return how what it needs is installed, or nothing where it needs nothing."""
        return f"pip install 'penstock[{self.extra}]'" if self.extra else ""

    def require_installed(self) -> None:
        """Raise NotInstalledError where a package that it needs is missing."""
        if self.missing:
            raise NotInstalledError(
                f"{self.name} needs {self.missing}, which is not installed", hint=self.remedy
            )


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # what it is part of is missing
        return False
