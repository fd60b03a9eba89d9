"""What a section behind an open gate leaves out, and how it is filled in again."""

import pyarrow as pa
import pytest

from penstock.engine.states.windows.section_rows import with_shares
from penstock.plan.algebra.aggregates import Aggregate
from penstock.plan.operators import Gate, HorvitzThompson, WindowAggregate
from penstock.plan.operators.bundles.member import Member, member_of
from penstock.plan.operators.gate import ALL, KEPT
from penstock.plan.operators.windows.sample_scaling import SampleEstimate, SampleScaling
from penstock.plan.operators.windows.window_aggregate import PANE
from penstock.plan.sharing.layout import Layout, aggregate_name, layout_of
from penstock.plan.sharing.unthinned import Unthinned, unthinned_of
from tests.unit.plan.bundles.queries import RESULT, SCAN, aggregate, kept

EVERY = Aggregate("count(1)", ("count(1)",), ("sum({0})",))
SEEN = Aggregate("count(x)", ("count(x)",), ("sum({0})",))
SUM = Aggregate("sum(x)", ("sum(x)",), ("sum({0})",))
SQUARES = Aggregate("sum(x * x)", ("sum(x * x)",), ("sum({0})",))
PARTS = (EVERY, SEEN, SUM, SQUARES)  # a0 to a3


def column(each: Aggregate) -> str:
    return f"{aggregate_name(each)}_0"


def behind_a_gate(*kinds: str, condition: str = "") -> Member:
    """Return a query that shows some estimates of x."""
    gate = Gate(SCAN, 0.1)
    below = aggregate(kept(gate, condition) if condition else gate, aggregates=PARTS)
    counted = WindowAggregate(
        below.input,
        below.time,
        below.assigner,
        (*below.keys, (KEPT, KEPT)),
        below.aggregates,
        RESULT,
    )
    made = {
        "count": SampleEstimate("c", "count", "bigint", True, "a1"),
        "sum": SampleEstimate("s", "sum", "double", True, "a1", "a2", "a3"),
        "avg": SampleEstimate("m", "avg", "double", True, "a1", "a2", "a3"),
    }
    scaling = SampleScaling(("k0",), tuple(made[kind] for kind in kinds), "a0")
    found = member_of(HorvitzThompson(counted, scaling, RESULT))
    assert found is not None
    return found


def of(*members: Member) -> tuple[Layout, Unthinned]:
    layout = layout_of(members)
    found = unthinned_of(members, layout)
    assert found is not None
    return layout, found


def test_a_sum_needs_neither_squares_nor_how_many_nor_shares() -> None:
    _, found = of(behind_a_gate("sum"))
    assert set(found.layout.columns) == {"k0", PANE, column(EVERY), column(SUM)}
    assert found.zeros == {column(SQUARES)}
    assert found.seen == {column(SEEN): column(SUM)}


@pytest.mark.parametrize("kind", ["avg", "count"])
def test_what_others_divide_by_or_show_is_counted(kind: str) -> None:
    _, found = of(behind_a_gate("sum"), behind_a_gate(kind, condition="`k` = 'a'"))
    assert column(SEEN) in found.layout.columns
    assert found.seen == {}


def test_who_stands_behind_no_gate_leaves_nothing_out() -> None:
    member = member_of(aggregate())
    assert member is not None
    assert unthinned_of([member], layout_of([member])) is None


def test_what_was_left_out_is_filled_in_in_its_place() -> None:
    layout, found = of(behind_a_gate("sum"))
    table = pa.table(
        {
            "k0": ["a", "b"],
            PANE: [0, 10],
            column(EVERY): pa.array([3, 2], pa.int64()),
            column(SUM): pa.array([1.5, None]),
        }
    )
    whole = with_shares(table, layout, found)
    assert whole.column_names == layout.columns
    assert whole[KEPT].to_pylist() == [ALL, ALL]
    assert whole[KEPT].type == pa.int32()
    assert whole[column(SQUARES)].to_pylist() == [0.0, 0.0]
    assert whole[column(SEEN)].to_pylist() == [1, 0]  # no value, no sum
