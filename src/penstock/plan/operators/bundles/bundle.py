"""Bundles: operators that answer many queries over one input together (plan/sharing)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.model.schema import Schema
from penstock.plan.operators.bundles.event_member import EventMember
from penstock.plan.operators.bundles.join_member import JoinKey, JoinMember
from penstock.plan.operators.bundles.member import FlowMember, Member
from penstock.plan.operators.operator import EventTime, Operator


@dataclass(frozen=True, slots=True)
class Bundle:
    """The operator that answers its members' windows together.

    Members come and go, the operator stays the same: they are not part of what it is.
    """

    input: Operator
    time: EventTime
    members: tuple[Member, ...] = field(default=(), compare=False)
    schema: Schema = field(default=Schema(), compare=False)
    times: tuple[EventTime, ...] = field(default=(), compare=False)

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the base."""
        return (self.input,)

    def text(self) -> str:
        """Show what the members have in common."""
        return f"bundle of windows by {self.time.column}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Refuse: what it gives are the members' rows, each with columns of its own."""
        raise TypeError(f"{self.text()} has no rows of its own")


@dataclass(frozen=True, slots=True)
class FlowBundle:
    """The operator that gives its members the tuples they ask for; it keeps nothing.

    All members make the same of their tuples: `shape` tells what, but for their constants.
    """

    input: Operator
    shape: str
    members: tuple[FlowMember, ...] = field(default=(), compare=False)
    schema: Schema = field(default=Schema(), compare=False)
    times: tuple[EventTime, ...] = field(default=(), compare=False)

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the base."""
        return (self.input,)

    def text(self) -> str:
        """Show what the members have in common."""
        return f"bundle of filters, {self.shape}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Refuse: what it gives are the members' rows."""
        raise TypeError(f"{self.text()} has no rows of its own")


@dataclass(frozen=True, slots=True)
class JoinBundle:
    """The operator that joins two inputs once for all of its members.

    `met` are the event times by which tuples of either side are there, for as long as each member
    says.
    """

    left: Operator
    right: Operator
    met: tuple[EventTime, EventTime]
    keys: tuple[JoinKey, ...]
    members: tuple[JoinMember, ...] = field(default=(), compare=False)
    schema: Schema = field(default=Schema(), compare=False)
    times: tuple[EventTime, ...] = field(default=(), compare=False)

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the bases of both sides."""
        return (self.left, self.right)

    def text(self) -> str:
        """Show what the members have in common."""
        keys = (f"{k.left} {'<=>' if k.null_safe else '='} {k.right}" for k in self.keys)
        return f"bundle of joins on {' and '.join(keys)}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Refuse: what it gives are the members' rows, each with columns of its own."""
        raise TypeError(f"{self.text()} has no rows of its own")


@dataclass(frozen=True, slots=True)
class EventBundle:
    """The operator that detects all events over the same bases by one graph.

    Members come and go, the operator stays the same: they are not part of what it is.
    """

    inputs: tuple[Operator, ...]
    members: tuple[EventMember, ...] = field(default=(), compare=False)
    schema: Schema = field(default=Schema(), compare=False)
    times: tuple[EventTime, ...] = field(default=(), compare=False)

    def text(self) -> str:
        """Say what it does for its members."""
        return "detection of events"

    def sql(self, inputs: Sequence[str]) -> str:
        """Refuse: what it gives are the members' rows, each with columns of its own."""
        raise TypeError(f"{self.text()} has no rows of its own")


AnyBundle = Bundle | FlowBundle | JoinBundle | EventBundle
