"""The states of the stateful operators, one file each."""

from penstock.engine.states.detect import DetectState, EventsState
from penstock.engine.states.gate import GateState
from penstock.engine.states.joins.hop_join import HopJoinState
from penstock.engine.states.joins.rows_join import RowsJoinState
from penstock.engine.states.joins.window_join import WindowJoinState
from penstock.engine.states.keyed_rows import KeyedRowsState
from penstock.engine.states.modify import ModifyState
from penstock.engine.states.ordered import OrderedState
from penstock.engine.states.session import SessionState
from penstock.engine.states.sharing.aggregate import AggregateState
from penstock.engine.states.sharing.bundle import BundleState
from penstock.engine.states.sharing.flows import FlowState
from penstock.engine.states.sharing.together import Together
from penstock.engine.states.sites import SitesState
from penstock.engine.states.state import Kept, KeptPart, State
from penstock.engine.states.take import TakeState
from penstock.engine.states.when import WhenState
from penstock.plan.operators import (
    Bundle,
    Detect,
    EventBundle,
    Flow,
    FlowBundle,
    Gate,
    HopJoin,
    KeyedRows,
    Modify,
    Operator,
    Ordered,
    RowsJoin,
    SessionAggregate,
    Take,
    WhenAggregate,
    WindowAggregate,
    WindowJoin,
)

__all__ = [
    "Kept",
    "KeptPart",
    "State",
    "Together",
    "counting_state",
    "new_state",
    "new_together",
    "restored",
]


def counting_state(root: Operator) -> State | None:
    """Return the state of a root that counts or drops tuples without Spark; most do not."""
    match root:
        case Gate():
            return GateState(root)
        case Take():
            return TakeState(root)
        case _:
            return None


def new_state(operator: Operator, begin: int) -> State:
    """Return the state of an operator that sees tuples only from now on.

    `begin` is behind the latest time that was seen.
    """
    match operator:
        case WindowAggregate():
            return AggregateState.alone(operator, begin)
        case Ordered():
            return OrderedState(operator)
        case Modify():
            return ModifyState(operator)
        case SessionAggregate():
            return SessionState(operator)
        case KeyedRows():
            return KeyedRowsState(operator)
        case WhenAggregate():
            return WhenState(operator)
        case WindowJoin():
            return WindowJoinState(operator)
        case RowsJoin():
            return RowsJoinState(operator)
        case HopJoin():
            return HopJoinState(operator, begin)
        case Detect():
            return DetectState.new(operator)
        case Flow():
            return SitesState.new(operator)
        case _:
            raise TypeError(f"{operator.text()} keeps no state")


def new_together(bundle: Bundle | FlowBundle | EventBundle) -> Together:
    """Return the state of a bundle whose members are yet to come in."""
    match bundle:
        case Bundle():
            return BundleState(bundle)
        case FlowBundle():
            return FlowState.new(bundle)
        case EventBundle():
            return EventsState.new(bundle)


def restored(operator: Operator, kept: Kept) -> State | Together:
    """Return the state that a checkpoint kept."""
    match operator:
        case Bundle():
            return BundleState.back(operator, kept)
        case FlowBundle():
            return FlowState.new(operator)
        case EventBundle():
            return EventsState.back(operator, kept)
        case Detect():
            return DetectState.back(operator, kept)
        case Flow():
            return SitesState.back(operator, kept)
        case WindowAggregate():
            return AggregateState.back_alone(operator, kept)
        case Ordered():
            return OrderedState.back(operator, kept)
        case Modify():
            return ModifyState.back(operator, kept)
        case SessionAggregate():
            return SessionState.back(operator, kept)
        case KeyedRows():
            return KeyedRowsState.back(operator, kept)
        case WhenAggregate():
            return WhenState.back(operator, kept)
        case WindowJoin():
            return WindowJoinState.back(operator, kept)
        case RowsJoin():
            return RowsJoinState.back(operator, kept)
        case HopJoin():
            return HopJoinState.back(operator, kept)
        case _:
            raise TypeError(f"{operator.text()} keeps no state")
