"""Rules that stand, and the readers of events through which they see tuples."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from penstock.engine.trains.buffers import Train
from penstock.model.rules import Coupling, OutsideAction, RuleDefinition
from penstock.plan.events.bind_rule import BoundRule
from penstock.plan.operators import Operator, key
from penstock.runtime.durable.journal import RecordedRun

RULES = "rules:"  # what the name of a trigger' reader begins with


@dataclass(slots=True)
class LiveRule:
    """A rule. It is asked about trains of its event behind number `since`, while it is enabled."""

    definition: RuleDefinition
    bound: BoundRule
    incarnation: int
    enabled: bool = True
    since: int = 0
    cause: str = ""

    @property
    def name(self) -> str:
        """Return the rule's name."""
        return self.definition.name

    @property
    def key(self) -> str:
        """Return the name by which its firings are kept; no rule ever made has the same."""
        return f"{self.name.lower()}.{self.incarnation}"

    def takes_all(self, action: int) -> bool:
        """Say whether an action takes all tuples of a firing together, and not one by one.

        What reaches outside does so once a train only where the rule is deferred, and where a
        program's arguments are not those of single tuples.
        """
        if not isinstance(self.definition.actions[action], OutsideAction):
            return True
        return self.definition.coupling is Coupling.DEFERRED and self.bound.makes[action] is None


@dataclass(slots=True)
class LiveTriggers:
    """All rules of one coupling on one event: a reader of the event's trains.

    `asked` are trains of which the rules have been asked and not all actions are done yet.
    """

    coupling: Coupling
    event: Operator
    title: str
    rules: dict[str, LiveRule] = field(default_factory=dict)
    runs: int = 0
    replay: deque[RecordedRun] = field(default_factory=deque)
    asked: list[Train] | None = None
    reader: str = field(init=False)
    input: str = field(init=False)

    def __post_init__(self) -> None:
        self.input = key(self.event)
        self.reader = reader_of(self.coupling, self.event)

    def in_order(self) -> list[LiveRule]:
        """Return the rules as they act: by priority, then in the order in which they were made."""
        return sorted(
            self.rules.values(), key=lambda rule: (-rule.definition.priority, rule.incarnation)
        )

    def begins(self, trains: Iterable[Train]) -> list[Train]:
        """Return the first of the trains, up to where some rule begins to look."""
        begin = {rule.since for rule in self.rules.values()}
        found: list[Train] = []
        for train in trains:
            found.append(train)
            if train.info.number in begin:
                break
        return found


def reader_of(coupling: Coupling, event: Operator) -> str:
    """Return the name of the reader of an event for the rules of a coupling."""
    return f"{RULES}{coupling}:{key(event)}"
