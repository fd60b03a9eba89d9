"""The parts of a running Penstock that views read."""

from dataclasses import dataclass

from penstock.catalog import Catalog
from penstock.clock import Clock
from penstock.engine.spark.application.session import Sessions
from penstock.runtime.durable.journal import Journal
from penstock.runtime.durable.pending_actions import PendingActions
from penstock.runtime.loop.supervisor import Supervisor
from penstock.runtime.names.directory import Directory
from penstock.runtime.names.known_functions import KnownFunctions
from penstock.runtime.names.stream_types import StreamTypes
from penstock.runtime.sources.table_versions import TableVersions
from penstock.runtime.topology.topology import Topology


@dataclass(frozen=True, slots=True)
class Inspected:
    """What is defined, what runs, and what was recorded; `sessions` are for trials."""

    directory: Directory
    types: StreamTypes
    functions: KnownFunctions
    tables: TableVersions
    catalog: Catalog
    supervisor: Supervisor
    journal: Journal
    pending_actions: PendingActions
    sessions: Sessions
    clock: Clock

    @property
    def topology(self) -> Topology:
        """Return what runs."""
        return self.supervisor.topology
