"""Closing windows in the driver: the partials of each selection, key and window."""

from collections import Counter
from typing import Any
from unittest import mock

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.states.windows import closing_small
from penstock.engine.states.windows.closing_small import matched, small_closer
from penstock.engine.states.windows.section_rows import asked_for
from penstock.plan.algebra.aggregates import Aggregate
from penstock.plan.operators.bundles.member import Member, member_of
from penstock.plan.operators.windows.window_aggregate import PANE
from penstock.plan.operators.windows.window_assigner import spans
from penstock.plan.sharing.layout import NUMBER, Closing, Layout, layout_of
from penstock.plan.sharing.predicate_index import NODE, SELECTION, bucket, predicate_bits
from tests.unit.plan.bundles.queries import COUNT, SCAN, SECOND, aggregate, kept

WINDOWS = (spans(4 * SECOND, 2 * SECOND), spans(6 * SECOND, 6 * SECOND))
CLOSINGS = [Closing(WINDOWS[0], 1, 6), Closing(WINDOWS[1], 0, 3)]


def members(*texts: str) -> list[Member]:
    made = [member_of(aggregate(kept(SCAN, text) if text else SCAN, 4, 2)) for text in texts]
    return [member for member in made if member is not None]


def partials_of(layout: Layout, rows: list[tuple[int, str, int]]) -> pa.Table:
    """Return partials: a pane (by its place), a key, a bucket or packed claims, one tuple each."""
    columns: dict[str, Any] = {"k0": pa.array([k for _, k, _ in rows])}
    if layout.predicate_index.buckets:
        numbers = [each % layout.predicate_index.buckets[0].count for _, _, each in rows]
        columns[bucket(0)] = pa.array(numbers, pa.int32())
    if layout.predicate_index.predicates:
        columns[predicate_bits(0)] = pa.array([each for _, _, each in rows], pa.int64())
    columns[PANE] = pa.array([pane * 2 * SECOND for pane, _, _ in rows], pa.int64())
    columns[f"{layout.aggregates[0][0]}_0"] = pa.array([1] * len(rows), pa.int64())
    return pa.table(columns)


ROWS = st.lists(
    st.tuples(st.integers(0, 14), st.sampled_from("ab"), st.integers(0, 7)), min_size=1, max_size=40
)
ASKED = (
    ("`x` > 1", "`x` > 2", "`x` < 2", "`x` >= 1 AND `x` <= 2"),
    ("`x` > 1 AND `k` = 'a'", "upper(`k`) = 'A'", "`x` > 2 AND `k` = 'b'"),
    ("",),
)


@given(ROWS, st.sampled_from(ASKED))
def test_windows_hold_what_their_selection_asks_for(
    rows: list[tuple[int, str, int]], texts: tuple[str, ...]
) -> None:
    asking = members(*texts)
    layout = layout_of(asking)
    told, table = layout.predicate_index, partials_of(layout, rows)
    closer = small_closer(layout)
    assert closer is not None
    pairs = [(windows, member.asked) for member in asking for windows in range(len(CLOSINGS))]
    selections = [(place, *pair) for place, pair in enumerate(pairs)]
    chosen = told.selection_rows(selections) if told else None
    nodes = told.node_rows(chosen[NODE]) if chosen and NODE in chosen else None
    found = closer.closed(table, CLOSINGS, chosen, nodes)
    assert found is not None
    wanted: Counter[Any] = Counter()
    for place, windows, asked in selections:
        mask = asked_for(table, told, asked)
        closing = CLOSINGS[windows]
        for (pane, k, _), is_asked in zip(rows, mask, strict=True):
            for n in range(closing.first, closing.last + 1):
                start, end = closing.assigner.start_of(n), closing.assigner.end_of(n)
                if is_asked and start <= pane * 2 * SECOND < end:
                    wanted[place, k, n] += 1
    count = f"{layout.aggregates[0][0]}_0"
    got = {(r[SELECTION], r["k0"], r[NUMBER]): r[count] for r in found.to_pylist()}
    assert len(got) == found.num_rows
    assert got == wanted


def test_windows_without_any_tuple_are_no_rows() -> None:
    for texts in ASKED:
        layout = layout_of(members(*texts))
        told, closer = layout.predicate_index, small_closer(layout)
        assert closer is not None
        table = partials_of(layout, [(100, "a", 0)])
        asked = [(place, 0, member.asked) for place, member in enumerate(members(*texts))]
        chosen = told.selection_rows(asked) if told else None
        nodes = told.node_rows(chosen[NODE]) if chosen and NODE in chosen else None
        found = closer.closed(table, CLOSINGS, chosen, nodes)
        assert found is not None
        assert found.num_rows == 0
        assert SELECTION in found.column_names


def test_more_than_a_few_are_left_to_spark() -> None:
    layout = layout_of(members(""))
    closer = small_closer(layout)
    assert closer is not None
    table = partials_of(layout, [(n, "a", 0) for n in range(10)])
    with mock.patch.object(closing_small, "FEW", 5):
        assert closer.closed(table, CLOSINGS) is None


def test_aggregates_that_are_not_plain_are_left_to_spark() -> None:
    other = Aggregate("bool_or(`x`)", ("bool_or(`x`)",), ("bool_or({0})",))
    found = member_of(aggregate(aggregates=(COUNT, other)))
    assert found is not None
    assert small_closer(layout_of([found])) is None


@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5)))
def test_equal_numbers_are_matched(left: list[int], right: list[int]) -> None:
    rows, places = matched(
        pa.array(left, pa.int64()).to_numpy(), pa.array(right, pa.int64()).to_numpy()
    )
    pairs = Counter(zip(rows.tolist(), places.tolist(), strict=True))
    assert pairs == Counter(
        (n, m) for n, one in enumerate(left) for m, other in enumerate(right) if one == other
    )
