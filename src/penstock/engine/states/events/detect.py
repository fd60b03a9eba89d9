"""The states of detections: one event alone, and all events over the same bases together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from penstock.engine.states.above import root_rows
from penstock.engine.states.events.detection import Detection
from penstock.engine.states.state import KeptState, Run, RunOutput, State
from penstock.plan.operators import AnyBundle, Detect, EventBundle, key
from penstock.plan.operators.bundles.member import Asking


@dataclass(slots=True)
class DetectState:
    """One event's detection."""

    operator: Detect
    detection: Detection

    @classmethod
    def new(cls, operator: Detect) -> Self:
        """Return the state of an event that begins now."""
        return cls(operator, Detection.of(operator.inputs, {key(operator): operator}))

    def step(self, run: Run) -> RunOutput:
        """Return the detections that the tuples lead to."""
        step = self.detection.step(run)[key(self.operator)]
        return RunOutput(root_rows(run, step.table), step.late)

    def promise(self, marks: Sequence[int]) -> int:
        """Return before which time all detections are known."""
        return self.detection.mark(marks)

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        return self.detection.kept()

    @classmethod
    def back(cls, operator: Detect, kept: KeptState) -> Self:
        """Return the state that a checkpoint kept."""
        return cls(operator, Detection.back(operator.inputs, {key(operator): operator}, kept))


@dataclass(slots=True)
class EventsState:
    """The detection of all events over the same bases."""

    bundle: EventBundle
    detection: Detection

    @classmethod
    def new(cls, bundle: EventBundle) -> Self:
        """Return the state of a bundle whose members are yet to come in."""
        return cls(bundle, Detection.of(bundle.inputs, {}))

    def rearranged(self, bundle: AnyBundle, begin: int) -> None:
        """Take the members of `bundle`; nodes that stand keep what they hold."""
        assert isinstance(bundle, EventBundle)  # noqa: S101  (a bundle stays what it is)
        detects = {member.key: member.detect for member in bundle.members}
        self.bundle, self.detection = bundle, self.detection.of_others(detects)

    def take_in(self, member: Asking, alone: State | None) -> None:
        """Take over what a member kept alone, ahead of being rearranged with it."""
        assert isinstance(alone, DetectState)  # noqa: S101  (what an event alone keeps)
        both = self.detection.detects | alone.detection.detects
        self.detection = self.detection.of_others(both, alone.detection)

    def take_out(self, member: Asking) -> DetectState:
        """Return what a member would have kept alone."""
        assert isinstance(member.root, Detect)  # noqa: S101  (only they are members)
        return DetectState(member.root, self.detection.of_others({member.key: member.root}))

    def steps(self, run: Run) -> dict[str, RunOutput]:
        """Return the detections of each member, by its root."""
        steps = self.detection.step(run)
        return {name: replace(step, judge=name) for name, step in steps.items()}

    def probe(self, run: Run, members: Sequence[Asking]) -> None:
        """Raise what a run would raise if only these members were here; nothing changes."""
        self.detection.probe(run, [member.key for member in members])

    def promises(self, marks: Sequence[int]) -> dict[str, int]:
        """Return before which time all detections are known: for all members the same."""
        mark = self.detection.mark(marks)
        return {member.key: mark for member in self.bundle.members}

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        return self.detection.kept()

    @classmethod
    def back(cls, bundle: EventBundle, kept: KeptState) -> Self:
        """Return the state that a checkpoint kept."""
        detects = {member.key: member.detect for member in bundle.members}
        return cls(bundle, Detection.back(bundle.inputs, detects, kept))
