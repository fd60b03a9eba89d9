"""Together: the state of an operator that answers several queries, each by its root."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from penstock.engine.states.state import KeptState, Run, RunOutput, State
from penstock.plan.operators import AnyBundle
from penstock.plan.operators.bundles.member import Asking


@runtime_checkable
class BundleMembers(Protocol):
    """What a bundle keeps. Members come and go while quiesced, with what is theirs."""

    def rearranged(self, bundle: AnyBundle, begin: int) -> None:
        """Take the members of `bundle`: new ones answer for what begins at `begin` or later."""
        ...

    def take_in(self, member: Asking, alone: State | None) -> None:
        """Take over what a member kept alone, ahead of being rearranged with it."""
        ...

    def take_out(self, member: Asking) -> State | None:
        """Return what a member would have kept alone."""
        ...

    def steps(self, run: Run) -> dict[str, RunOutput]:
        """Take the run's tuples in and return what they lead to; all or nothing."""
        ...

    def probe(self, run: Run, members: Sequence[Asking]) -> None:
        """Raise what a run would raise if only these members were here; nothing changes."""
        ...

    def promises(self, marks: Sequence[int]) -> dict[str, int]:
        """Return the watermarks of the outputs when the input has this one."""
        ...

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        ...
