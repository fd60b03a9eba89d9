"""Rules as they are made, changed, taken away and brought back; while quiesced."""

from dataclasses import dataclass

from penstock.catalog import Catalog, Entry
from penstock.engine.interfaces.pushed.push import Push
from penstock.errors import UnknownNameError
from penstock.model.definitions import QueryState
from penstock.model.rules import RuleDefinition
from penstock.plan.operators import Operator
from penstock.runtime.definitions.kind import NOBODY, Enter, Newcomers
from penstock.runtime.definitions.rule_targets import RuleTargets, loop_warning
from penstock.runtime.durable.firings import Firings
from penstock.runtime.durable.journal import Journal
from penstock.runtime.durable.manifest import Manifest
from penstock.runtime.loop.graph_cutter import GraphCutter
from penstock.runtime.loop.occasions import Lanes
from penstock.runtime.names.directory import Directory, KnownRule
from penstock.runtime.topology.restoration import begun_at, restore_occasions
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_rule import LiveOccasions, LiveRule, reader_of
from penstock.sql import CreateRule


@dataclass(frozen=True, slots=True)
class Rules:
    """Puts rules into the topology; `lanes` are where what they have fired waits."""

    directory: Directory
    catalog: Catalog
    topology: Topology
    cutter: GraphCutter
    lanes: Lanes
    targets: RuleTargets

    @property
    def firings(self) -> Firings:
        """Return what rules have fired."""
        return self.lanes.firings

    def prepared(self, statement: CreateRule) -> Enter:
        """Bind a rule, which then stands from the next trains of its event on."""
        definition = statement.definition
        event, bound = self.targets.bound(statement)

        def enter(entry: Entry) -> str:
            self.catalog.set_state(definition.name, QueryState.RUNNING)
            self.directory.add(KnownRule(definition, entry.incarnation, bound.reads))
            self.stand(LiveRule(definition, bound, entry.incarnation), event)
            return f"rule {definition.name} stands{loop_warning(self.directory, definition.name)}"

        return enter

    def stand(self, rule: LiveRule, event: Operator) -> None:
        """Put a rule into the topology, to begin behind the trains its event has given by now."""
        if reader_of(rule.definition.coupling, event) not in self.topology.occasions:
            self.firings.forget_place(reader_of(rule.definition.coupling, event))
        each = self._occasions(rule.definition, event)
        each.rules[rule.name.lower()] = rule
        self.cutter.changed()
        rule.since = self._written(each)

    def forget(self, known: KnownRule) -> None:
        """Take a rule away, with what it has not done."""
        each, rule = find(self.directory, self.topology, known.definition.name)
        del each.rules[rule.name.lower()]
        if not each.rules:
            del self.topology.occasions[each.reader]
            self.topology.gone.add(each.reader)
        self.firings.forget(rule.key)
        self.cutter.changed()

    def set_enabled(self, name: str, *, enabled: bool) -> str:
        """Let a rule look at its event again, from the next trains on, or no more."""
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
        """Let a rule's dead letters be tried again."""
        _, rule = find(self.directory, self.topology, name)
        count = self.firings.retry(rule.key)
        self.lanes.look()
        return f"{count:,} dead letters of rule {rule.name} are tried again"

    def bring_back(self, statement: CreateRule, entry: Entry, manifest: Manifest) -> Newcomers:
        """Let a rule stand as the checkpoint saw it."""
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
        self._occasions(definition, event).rules[rule.name.lower()] = rule
        return NOBODY

    def restore(self, manifest: Manifest, journal: Journal) -> None:
        """Put the readers for rules back, and settle what was about to be inserted at the end.

        Feeds are open by then: a push stream tells whether the rows of an intent are in its log.
        """
        for each in self.topology.occasions.values():
            restore_occasions(each, manifest, journal)
        sources = {feed.key: feed.interface for feed in self.topology.feeds.values()}
        for intent in self.firings.intents():
            source = sources.get(intent.stream)
            if isinstance(source, Push) and not source.is_open:
                continue  # its log is damaged: nobody can tell before it is mended
            happened = isinstance(source, Push) and source.rows > intent.position
            self.firings.settle(intent, happened=happened)
        for rule in self.firings.rules():
            name, _, incarnation = rule.rpartition(".")
            entry = self.catalog.get(name)
            if entry is None or str(entry.incarnation) != incarnation:
                self.firings.forget(rule)
        self.lanes.look()

    def _occasions(self, definition: RuleDefinition, event: Operator) -> LiveOccasions:
        """Return the reader of an event for the rules of a coupling, made where there is none."""
        mode = f" in {definition.context}" if definition.context else ""
        title = f"rules on {definition.event.lower()}{mode}"
        made = LiveOccasions(definition.coupling, event, title)
        return self.topology.occasions.setdefault(reader_of(definition.coupling, event), made)

    def _written(self, each: LiveOccasions) -> int:
        """Return the last train that an event has given."""
        buffer = self.topology.buffers.get(each.input)
        return buffer.written if buffer is not None else 0


def find(directory: Directory, topology: Topology, name: str) -> tuple[LiveOccasions, LiveRule]:
    """Return a rule with the reader that it looks through."""
    known = directory.rule(name)
    for each in list(topology.occasions.values()):  # who shows it does so while things change
        rule = each.rules.get(name.lower())
        if rule is not None and rule.incarnation == known.incarnation:
            return each, rule
    raise UnknownNameError(f"rule {name} could not be brought back")
