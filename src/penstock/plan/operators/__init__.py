"""The operators, one file each."""

from penstock.plan.operators.bundles.bundle import (
    AnyBundle,
    Bundle,
    EventBundle,
    FlowBundle,
    JoinBundle,
)
from penstock.plan.operators.detect import Detect
from penstock.plan.operators.flow import Flow
from penstock.plan.operators.gate import Gate
from penstock.plan.operators.identity import key, walk
from penstock.plan.operators.joins.hop_join import HopJoin
from penstock.plan.operators.joins.lateral_view import LateralView
from penstock.plan.operators.joins.oblivious_join import ObliviousJoin
from penstock.plan.operators.joins.rows_join import RowsJoin
from penstock.plan.operators.joins.table_join import TableJoin, table_view
from penstock.plan.operators.joins.time_slices import TimeSlices
from penstock.plan.operators.joins.window_join import WindowJoin
from penstock.plan.operators.operator import EventTime, Operator
from penstock.plan.operators.tuples.distinct import Distinct
from penstock.plan.operators.tuples.filter import Filter
from penstock.plan.operators.tuples.modify import Modify
from penstock.plan.operators.tuples.ordered import NUMBER, Ordered
from penstock.plan.operators.tuples.project import Project
from penstock.plan.operators.tuples.scan import Scan
from penstock.plan.operators.tuples.take import Take
from penstock.plan.operators.tuples.top import Top
from penstock.plan.operators.tuples.union import Union
from penstock.plan.operators.windows.horvitz_thompson import HorvitzThompson
from penstock.plan.operators.windows.keyed_rows import KeyedRows
from penstock.plan.operators.windows.session_aggregate import SessionAggregate
from penstock.plan.operators.windows.when_aggregate import WhenAggregate
from penstock.plan.operators.windows.window_aggregate import WindowAggregate

STATEFUL = (
    WindowAggregate,
    Ordered,
    Modify,
    WindowJoin,
    SessionAggregate,
    RowsJoin,
    ObliviousJoin,
    HopJoin,
    KeyedRows,
    WhenAggregate,
    TimeSlices,
    Bundle,
    FlowBundle,  # keeps nothing, but has many roots as well
    JoinBundle,
    Detect,
    EventBundle,
    Flow,
)

__all__ = [
    "NUMBER",
    "AnyBundle",
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
    "HorvitzThompson",
    "JoinBundle",
    "KeyedRows",
    "LateralView",
    "Modify",
    "ObliviousJoin",
    "Operator",
    "Ordered",
    "Project",
    "RowsJoin",
    "Scan",
    "SessionAggregate",
    "TableJoin",
    "Take",
    "TimeSlices",
    "Top",
    "Union",
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
