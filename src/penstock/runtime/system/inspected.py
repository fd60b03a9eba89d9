"""The parts of a running Penstock that views read."""

from dataclasses import dataclass

from penstock.catalog import Catalog
from penstock.clock import Clock
from penstock.engine.spark.session import Sessions
from penstock.runtime.durable.firings import Firings
from penstock.runtime.durable.journal import Journal
from penstock.runtime.loop.supervisor import Supervisor
from penstock.runtime.names.directory import Directory
from penstock.runtime.names.known_functions import KnownFunctions
from penstock.runtime.names.stream_types import StreamTypes


@dataclass(frozen=True, slots=True)
class Inspected:
    """What is defined, what runs, and what was recorded; `sessions` are for trials."""

    directory: Directory
    types: StreamTypes
    functions: KnownFunctions
    catalog: Catalog
    supervisor: Supervisor
    journal: Journal
    firings: Firings
    sessions: Sessions
    clock: Clock
