"""Recovery: what the catalog, the last checkpoint and the journal remember is put back."""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from penstock.engine.interfaces.interface import Arriving
from penstock.engine.spark.application.spark_life import refuse_dead
from penstock.errors import HomeError, PenstockError, describe
from penstock.model.definitions import QueryState
from penstock.runtime.definitions.definitions import Definitions
from penstock.runtime.definitions.kind import NOBODY, Newcomers
from penstock.runtime.definitions.rules import Rules
from penstock.runtime.durable.home import Home
from penstock.runtime.durable.journal import Journal
from penstock.runtime.durable.manifest import Checkpoint, Manifest
from penstock.runtime.loop.graph_cutter import GraphCutter
from penstock.runtime.queries.live_queries import LiveQueries
from penstock.runtime.queries.suspension import away
from penstock.runtime.topology.restoration import checked, put_back, restore_suspended

# What reading files and records that are not whole may raise; all else is ours.
UNREADABLE = (pa.ArrowException, OSError, ValueError, LookupError, TypeError, AttributeError)


@dataclass(frozen=True, slots=True)
class Recovery:
    """Puts back what a home remembers, before anything runs."""

    home: Home
    journal: Journal
    definitions: Definitions
    cutter: GraphCutter
    queries: LiveQueries
    rules: Rules
    warn: Callable[[str], None]

    def recover(self, now: float) -> Newcomers:
        """Put everything back; return what was defined after the last checkpoint."""
        try:
            return self._recover(now)
        except UNREADABLE as error:
            raise HomeError(
                f"what the home {self.home.path} keeps cannot be brought back: {describe(error)}",
                hint="restore it from a copy; penstock check HOME tells what is whole",
            ) from error

    def _recover(self, now: float) -> Newcomers:
        """Take the last whole checkpoint, what is defined, then the state of what runs.

        The order matters. Definitions come first: the state is found by their operators. Figures
        and the strategy come before the graph is cut, which asks them. Source readers are open once
        the state is put back, and only then can be told which results and inserts the journal does
        not know. Recorded runs are done again once the supervisor works, and newcomers have to wait
        for that: they would change the graph that these ran over.
        """
        topology, cutter = self.cutter.topology, self.cutter
        topology.checkpoint = self._whole_checkpoint()
        manifest = topology.checkpoint.manifest if topology.checkpoint else Manifest()
        newcomers = self._bring_back_definitions(manifest)
        cutter.statistics.bring_back(manifest.statistics)
        cutter.control.bring_back(manifest.control)
        put_back(topology, manifest, self.journal, self.home.state, cutter.reconnect, now)
        for source_reader in topology.source_readers.values():
            if isinstance(source_reader.interface, Arriving) and source_reader.interface.notice:
                self.warn(
                    f"stream {source_reader.definition.name}: {source_reader.interface.notice}"
                )
        for query in topology.queries.values():
            self.queries.compare(query)
        for query in topology.suspended.values():
            restore_suspended(query, manifest, away(topology, query, now))
        self.rules.restore(manifest, self.journal)
        return newcomers

    def add(self, newcomers: Newcomers) -> None:
        """Do what a death kept from being done, between runs: no replay may cross this change."""
        with self.cutter.changing():
            for known in newcomers.queries:
                self.queries.start(known)
            for rule, event in newcomers.rules:
                self.rules.stand(rule, event)

    def _bring_back_definitions(self, manifest: Manifest) -> Newcomers:
        """Define everything again, in its order; what cannot be is held with the cause."""
        newcomers, catalog = NOBODY, self.definitions.catalog
        for entry in catalog.all():
            try:
                newcomers += self.definitions.bring_back(entry, manifest)
            except PenstockError as error:
                refuse_dead(error)
                catalog.set_state(entry.name, QueryState.FAILED, str(error))
        return newcomers

    def _whole_checkpoint(self) -> Checkpoint | None:
        """Return the newest checkpoint that is whole, and warn where that is not the last one."""
        numbers = self.journal.checkpoints()
        for number in numbers:
            found, damage = checked(self.journal, number, self.home.state)
            if found is not None and not damage:
                return found
            what = ", ".join(damage)
            if number != numbers[-1]:
                self.warn(
                    f"the last checkpoint is damaged ({what}): what came after the one before it "
                    "is done again"
                )
        if not numbers:
            return None
        raise HomeError(
            f"no checkpoint of the home {self.home.path} is whole: {what}",
            hint="restore the file from a copy, or start with another home",
        )
