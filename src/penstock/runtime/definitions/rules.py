"""Rules as they are made, changed, taken away and brought back; while quiesced."""

from dataclasses import dataclass

from penstock.catalog import Catalog, CatalogEntry
from penstock.engine.interfaces.pushed.push import Push
from penstock.errors import UnknownNameError
from penstock.model.definitions import QueryState
from penstock.model.rules import RuleDefinition
from penstock.plan.operators import Operator
from penstock.runtime.definitions.kind import NOBODY, Enter, Newcomers
from penstock.runtime.definitions.rule_targets import RuleTargets, loop_warning
from penstock.runtime.durable.journal import Journal
from penstock.runtime.durable.manifest import Manifest
from penstock.runtime.durable.pending_actions import PendingActions
from penstock.runtime.loop.graph_cutter import GraphCutter
from penstock.runtime.loop.trigger_batches import ActionLanes
from penstock.runtime.names.directory import Directory, KnownRule
from penstock.runtime.topology.restoration import begun_at, restore_triggers
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_rule import LiveRule, LiveTriggers, reader_of
from penstock.sql import CreateRule


@dataclass(frozen=True, slots=True)
class Rules:
    """Puts rules into the topology; `lanes` are where what they have fired waits."""

    directory: Directory
    catalog: Catalog
    topology: Topology
    cutter: GraphCutter
    lanes: ActionLanes
    targets: RuleTargets

    @property
    def pending_actions(self) -> PendingActions:
        """Return what rules have fired."""
        return self.lanes.pending_actions

    def prepared(self, statement: CreateRule) -> Enter:
        """Bind a rule, which then stands from the next trains of its event on."""
        definition = statement.definition
        event, bound = self.targets.bound(statement)

        def enter(entry: CatalogEntry) -> str:
            self.catalog.set_state(definition.name, QueryState.RUNNING)
            self.directory.add(KnownRule(definition, entry.incarnation, bound.reads))
            self.stand(LiveRule(definition, bound, entry.incarnation), event)
            return f"rule {definition.name} stands{loop_warning(self.directory, definition.name)}"

        return enter

    def stand(self, rule: LiveRule, event: Operator) -> None:
        """Put a rule into the topology, to begin behind the trains its event has given by now."""
        if reader_of(rule.definition.coupling, event) not in self.topology.trigger_batches:
            self.pending_actions.forget_place(reader_of(rule.definition.coupling, event))
        each = self._trigger_batches(rule.definition, event)
        each.rules[rule.name.lower()] = rule
        self.cutter.changed()
        rule.since = self._written(each)

    def forget(self, known: KnownRule) -> None:
        """Take a rule away, with what it has not done."""
        each, rule = find(self.directory, self.topology, known.definition.name)
        del each.rules[rule.name.lower()]
        if not each.rules:
            del self.topology.trigger_batches[each.reader]
            self.topology.gone.add(each.reader)
        self.pending_actions.forget(rule.key)
        self.cutter.changed()

    def set_enabled(self, name: str, *, enabled: bool) -> str:
        """Enable a rule from the next trains on, or disable it."""
        each, rule = find(self.directory, self.topology, name)
        if enabled:
            self.topology.mend(each.event)
        if enabled and (not rule.enabled or rule.cause):
            rule.since = self._written(each)
        rule.enabled, rule.cause = enabled, ""
        state = QueryState.RUNNING if enabled else QueryState.STOPPED
        self.catalog.set_state(rule.name, state, "")
        return f"rule {rule.name} is {'enabled' if enabled else 'disabled'}"

    def retry(self, name: str) -> str:
        """Retry a rule's dead letters."""
        _, rule = find(self.directory, self.topology, name)
        count = self.pending_actions.retry(rule.key)
        self.lanes.look()
        return f"{count:,} dead letters of rule {rule.name} are tried again"

    def bring_back(
        self, statement: CreateRule, entry: CatalogEntry, manifest: Manifest
    ) -> Newcomers:
        """Restore a rule as the checkpoint saw it."""
        definition = statement.definition
        event, bound = self.targets.bound(statement)
        self.directory.add(KnownRule(definition, entry.incarnation, bound.reads))
        enabled = entry.state is not QueryState.STOPPED
        rule = LiveRule(definition, bound, entry.incarnation, enabled=enabled)
        if entry.state is QueryState.FAILED:
            rule.cause = entry.cause
        begun = begun_at(manifest, reader_of(definition.coupling, event), rule.key)
        if begun is None:
            return Newcomers(rules=((rule, event),))
        rule.since = begun
        self._trigger_batches(definition, event).rules[rule.name.lower()] = rule
        return NOBODY

    def restore(self, manifest: Manifest, journal: Journal) -> None:
        """Put the readers for rules back, and settle what was about to be inserted at the end.

        Source readers are open by then: a push stream tells whether the rows of an intent are in
        its log.
        """
        for each in self.topology.trigger_batches.values():
            restore_triggers(each, manifest, journal)
        sources = {
            source_reader.key: source_reader.interface
            for source_reader in self.topology.source_readers.values()
        }
        for intent in self.pending_actions.intents():
            source = sources.get(intent.stream)
            if isinstance(source, Push) and not source.is_open:
                continue  # its log is damaged: nobody can tell before it is mended
            happened = isinstance(source, Push) and source.rows > intent.position
            self.pending_actions.settle(intent, happened=happened)
        for rule in self.pending_actions.rules():
            name, _, incarnation = rule.rpartition(".")
            entry = self.catalog.get(name)
            if entry is None or str(entry.incarnation) != incarnation:
                self.pending_actions.forget(rule)
        self.lanes.look()

    def _trigger_batches(self, definition: RuleDefinition, event: Operator) -> LiveTriggers:
        """Return the reader of an event for the rules of a coupling, made where there is none."""
        mode = f" in {definition.context}" if definition.context else ""
        title = f"rules on {definition.event.lower()}{mode}"
        made = LiveTriggers(definition.coupling, event, title)
        return self.topology.trigger_batches.setdefault(reader_of(definition.coupling, event), made)

    def _written(self, each: LiveTriggers) -> int:
        """Return the last train that an event has given."""
        buffer = self.topology.buffers.get(each.input)
        return buffer.written if buffer is not None else 0


def find(directory: Directory, topology: Topology, name: str) -> tuple[LiveTriggers, LiveRule]:
    """Return a rule with the reader that it looks through."""
    known = directory.rule(name)
    for each in list(topology.trigger_batches.values()):  # who shows it does so while things change
        rule = each.rules.get(name.lower())
        if rule is not None and rule.incarnation == known.incarnation:
            return each, rule
    raise UnknownNameError(f"rule {name} could not be brought back")
