"""Events in a bundle, and the primitive events that they are made of."""

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.plan.operators.bundles.member import Asking, FlowMember, flow_member_of
from penstock.plan.operators.detect import Detect, base_of
from penstock.plan.operators.identity import key
from penstock.plan.operators.operator import Operator


@dataclass(frozen=True, slots=True, eq=False)
class EventMember(Asking):
    """A detection among those of one graph; its conditions are those of its primitive events."""

    detect: Detect


def event_member(detect: Detect) -> EventMember:
    """Return a detection as a member."""
    return EventMember(detect, detect.inputs[0], (), detect)


def primitives_of(detects: Iterable[Detect]) -> dict[str, Operator]:
    """Return the primitive events of detections, each once, by their keys."""
    found = {key(each): each for detect in detects for each in detect.primitives}
    return {name: found[name] for name in sorted(found)}


def asking(primitive: Operator) -> FlowMember:
    """Return a primitive event as one who asks its base for tuples."""
    return flow_member_of(primitive) or FlowMember(primitive, base_of(primitive), ())
