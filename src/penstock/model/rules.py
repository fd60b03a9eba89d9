"""Rules as their users define them: ON an event, WHEN a condition holds, DO actions (ANA-30)."""

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Literal

from penstock.errors import BadOptionError
from penstock.model.definitions import Connector
from penstock.model.events import Mode
from penstock.model.goals import DEFAULT_PRIORITY, HIGHEST, LOWEST, Terms

MOST_SECONDS = 3600.0  # a limit on one try that is longer than this limits nothing


class Coupling(StrEnum):
    """When a rule acts, seen from the train that its event is in."""

    IMMEDIATE = "immediate"
    DEFERRED = "deferred"
    DETACHED = "detached"


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT INTO a stream; RAISE is the same, and `verb` tells which was written.

    `values` are SQL over the event's columns, for the target's `columns`, or for all of them.
    """

    target: str
    values: tuple[str, ...]
    columns: tuple[str, ...] = ()
    verb: Literal["INSERT", "RAISE"] = "INSERT"


Verb = Literal["START", "STOP", "ENABLE", "DISABLE"]


@dataclass(frozen=True, slots=True)
class Steer:
    """START or STOP a query, ENABLE or DISABLE a rule."""

    verb: Verb
    name: str


@dataclass(frozen=True, slots=True)
class Alter:
    """ALTER QUERY: other terms for a query that runs."""

    name: str
    terms: Terms


@dataclass(frozen=True, slots=True)
class CallAction:
    """CALL: a Python function that the client has registered under this name."""

    name: str


@dataclass(frozen=True, slots=True)
class OutsideAction:
    """`webhook(…)` or `command(…)`: something outside."""

    connector: Connector


Action = Insert | Steer | Alter | CallAction | OutsideAction


@dataclass(frozen=True, slots=True)
class ActionLimits:
    """How far an action may go.

    A try may last `timeout`; one that failed is repeated `retries` times, after `backoff`, twice
    that, and so on. At most `rate` tuples a second are acted on. So many tuples may wait, and so
    many stay as dead letters.
    """

    timeout: timedelta = timedelta(seconds=10)
    retries: int = 4
    backoff: timedelta = timedelta(milliseconds=200)
    rate: float | None = None
    queue: int = 10_000
    dead: int = 10_000

    def __post_init__(self) -> None:
        """Refuse limits that nothing can keep."""
        if not 0 < self.timeout.total_seconds() <= MOST_SECONDS:
            raise BadOptionError("timeout must be above zero, and an hour at most")
        if not 0 < self.backoff.total_seconds() <= MOST_SECONDS:
            raise BadOptionError("backoff must be above zero, and an hour at most")
        if self.rate is not None and not 0 < self.rate <= 1e9:  # noqa: PLR2004
            raise BadOptionError("rate must be above zero: so many tuples a second")
        if not 0 <= self.retries <= 100:  # noqa: PLR2004
            raise BadOptionError("retries must be from 0 to 100")
        if self.queue < 1 or self.dead < 1:
            raise BadOptionError("queue and dead must be 1 or more tuples")


DEFAULT_LIMITS = ActionLimits()


@dataclass(frozen=True, slots=True)
class RuleDefinition:
    """CREATE RULE; `text` is the statement as it was written.

    `context` is the consumption mode in which the event is read, where one is stated.
    """

    name: str
    event: str
    condition: str
    actions: tuple[Action, ...]
    coupling: Coupling = Coupling.DETACHED
    context: Mode | None = None
    priority: int = DEFAULT_PRIORITY
    limits: ActionLimits = field(default=DEFAULT_LIMITS)
    text: str = ""

    def __post_init__(self) -> None:
        """Refuse a priority that there is not."""
        if not LOWEST <= self.priority <= HIGHEST:
            raise BadOptionError(
                f"priority {self.priority} must be from {LOWEST} to {HIGHEST}",
                hint=f"{HIGHEST} acts first, {DEFAULT_PRIORITY} is what a rule has by itself",
            )

    @property
    def targets(self) -> frozenset[str]:
        """Return the names of streams that the actions add to, in lower case."""
        return frozenset(each.target.lower() for each in self.actions if isinstance(each, Insert))

    @property
    def steered(self) -> frozenset[str]:
        """Return the names of queries and rules that the actions steer, in lower case."""
        steers = (each for each in self.actions if isinstance(each, Steer | Alter))
        return frozenset(each.name.lower() for each in steers)
