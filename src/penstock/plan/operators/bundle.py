"""Bundles: operators that answer many queries over one input together (plan/sharing)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.model.schema import Schema
from penstock.plan.operators.operator import EventTime, Operator

if TYPE_CHECKING:
    from penstock.plan.sharing.member import FlowMember, Member


@dataclass(frozen=True, slots=True)
class Bundle:
    """The operator that answers its members' windows together.

    Members come and go, the operator stays the same: they are not part of what it is.
    """

    input: Operator
    time: EventTime
    members: "tuple[Member, ...]" = field(default=(), compare=False)
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
    members: "tuple[FlowMember, ...]" = field(default=(), compare=False)
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
