"""The states of the stateful operators, one file each."""

from collections.abc import Callable
from typing import Any

from penstock.engine.states.events.detect import DetectState, EventsState
from penstock.engine.states.joins.hop_join import HopJoinState
from penstock.engine.states.joins.oblivious_join import ObliviousJoinState
from penstock.engine.states.joins.rows_join import RowsJoinState
from penstock.engine.states.joins.time_slices import TimeSlicesState
from penstock.engine.states.joins.window_join import WindowJoinState
from penstock.engine.states.sharing.bundle import BundleState
from penstock.engine.states.sharing.flows import FlowState
from penstock.engine.states.sharing.joins import JoinsState
from penstock.engine.states.sharing.together import BundleMembers
from penstock.engine.states.sites import SitesState
from penstock.engine.states.state import KeptPart, KeptState, State
from penstock.engine.states.tuples.gate import GateState
from penstock.engine.states.tuples.modify import ModifyState
from penstock.engine.states.tuples.ordered import OrderedState
from penstock.engine.states.tuples.take import TakeState
from penstock.engine.states.windows.aggregate import AggregateState
from penstock.engine.states.windows.keyed_rows import KeyedRowsState
from penstock.engine.states.windows.session import SessionState
from penstock.engine.states.windows.when import WhenState
from penstock.plan.operators import (
    AnyBundle,
    Bundle,
    Detect,
    EventBundle,
    Flow,
    FlowBundle,
    Gate,
    HopJoin,
    JoinBundle,
    KeyedRows,
    Modify,
    ObliviousJoin,
    Operator,
    Ordered,
    RowsJoin,
    SessionAggregate,
    Take,
    TimeSlices,
    WhenAggregate,
    WindowAggregate,
    WindowJoin,
)

__all__ = [
    "BundleMembers",
    "KeptPart",
    "KeptState",
    "State",
    "counting_state",
    "new_state",
    "new_together",
    "restored",
]


New = Callable[[Any, int], State]
Back = Callable[[Any, KeptState], State]


def counting_state(root: Operator) -> State | None:
    """Return the state of a root that counts or drops tuples without Spark; most do not."""
    match root:
        case Gate():
            return GateState(root)
        case Take():
            return TakeState(root)
        case _:
            return None


def _now(state: Callable[[Any], State]) -> New:
    """Return what makes a state that does not care when it begins."""
    return lambda operator, _: state(operator)


# What makes the state of an operator that sees tuples only from now on, and what a checkpoint's.
STATES: tuple[tuple[type[Operator], New, Back], ...] = (
    (WindowAggregate, AggregateState.alone, AggregateState.back_alone),
    (Ordered, _now(OrderedState), OrderedState.back),
    (Modify, _now(ModifyState), ModifyState.back),
    (SessionAggregate, _now(SessionState), SessionState.back),
    (KeyedRows, _now(KeyedRowsState), KeyedRowsState.back),
    (WhenAggregate, _now(WhenState), WhenState.back),
    (WindowJoin, _now(WindowJoinState), WindowJoinState.back),
    (RowsJoin, _now(RowsJoinState), RowsJoinState.back),
    (ObliviousJoin, _now(ObliviousJoinState), ObliviousJoinState.back),
    (HopJoin, HopJoinState, HopJoinState.back),
    (TimeSlices, TimeSlicesState, TimeSlicesState.back),
    (Detect, _now(DetectState.new), DetectState.back),
    (Flow, _now(SitesState.new), SitesState.back),
)


def new_state(operator: Operator, begin: int) -> State:
    """Return the state of an operator that sees tuples only from now on.

    `begin` is behind the latest time that was seen.
    """
    new, _ = _of(operator)
    return new(operator, begin)


def _of(operator: Operator) -> tuple[New, Back]:
    for kind, new, back in STATES:
        if isinstance(operator, kind):
            return new, back
    raise TypeError(f"{operator.text()} keeps no state")


def new_together(bundle: AnyBundle) -> BundleMembers:
    """Return the state of a bundle whose members are yet to come in."""
    match bundle:
        case Bundle():
            return BundleState(bundle)
        case FlowBundle():
            return FlowState.new(bundle)
        case JoinBundle():
            return JoinsState.new(bundle)
        case EventBundle():
            return EventsState.new(bundle)


def restored(operator: Operator, kept: KeptState) -> State | BundleMembers:
    """Return the state that a checkpoint kept."""
    match operator:
        case Bundle():
            return BundleState.back(operator, kept)
        case FlowBundle():
            return FlowState.new(operator)
        case JoinBundle():
            return JoinsState.back(operator, kept)
        case EventBundle():
            return EventsState.back(operator, kept)
        case _:
            _, back = _of(operator)
            return back(operator, kept)
