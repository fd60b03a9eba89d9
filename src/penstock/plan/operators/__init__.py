"""The operators, one file each."""

from penstock.plan.operators.bundle import Bundle, FlowBundle
from penstock.plan.operators.detect import Detect, EventBundle
from penstock.plan.operators.distinct import Distinct
from penstock.plan.operators.filter import Filter
from penstock.plan.operators.flow import Flow
from penstock.plan.operators.gate import Gate
from penstock.plan.operators.hop_join import HopJoin
from penstock.plan.operators.identity import key, walk
from penstock.plan.operators.keyed_rows import KeyedRows
from penstock.plan.operators.lateral_view import LateralView
from penstock.plan.operators.modify import Modify
from penstock.plan.operators.operator import EventTime, Operator
from penstock.plan.operators.ordered import NUMBER, Ordered
from penstock.plan.operators.project import Project
from penstock.plan.operators.rows_join import RowsJoin
from penstock.plan.operators.scan import Scan
from penstock.plan.operators.session_aggregate import SessionAggregate
from penstock.plan.operators.table_join import TableJoin, table_view
from penstock.plan.operators.take import Take
from penstock.plan.operators.top import Top
from penstock.plan.operators.union import Union
from penstock.plan.operators.weigh import Weigh
from penstock.plan.operators.when_aggregate import WhenAggregate
from penstock.plan.operators.window_aggregate import WindowAggregate
from penstock.plan.operators.window_join import WindowJoin

STATEFUL = (
    WindowAggregate,
    Ordered,
    Modify,
    WindowJoin,
    SessionAggregate,
    RowsJoin,
    HopJoin,
    KeyedRows,
    WhenAggregate,
    Bundle,
    FlowBundle,  # keeps nothing, but has many roots as well
    Detect,
    EventBundle,
    Flow,
)

__all__ = [
    "NUMBER",
    "Bundle",
    "Detect",
    "Distinct",
    "EventBundle",
    "EventTime",
    "Filter",
    "Flow",
    "FlowBundle",
    "Gate",
    "HopJoin",
    "KeyedRows",
    "LateralView",
    "Modify",
    "Operator",
    "Ordered",
    "Project",
    "RowsJoin",
    "Scan",
    "SessionAggregate",
    "TableJoin",
    "Take",
    "Top",
    "Union",
    "Weigh",
    "WhenAggregate",
    "WindowAggregate",
    "WindowJoin",
    "is_stateful",
    "key",
    "table_view",
    "walk",
]


def is_stateful(operator: Operator) -> bool:
    """Say whether the operator keeps something from one train to the next."""
    return isinstance(operator, STATEFUL)
