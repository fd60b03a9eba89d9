"""Law: finish(combine(partials of any cut)) equals Spark's own aggregate over the whole."""

import itertools
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.engine.spark.analysis import SparkAnalyst
from penstock.engine.spark.application.session import Sessions, open_sessions
from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.states.state import Run
from penstock.engine.states.windows.aggregate import AggregateState
from penstock.engine.trains.rows import COMPACT_PARTS, SMALL_ROWS, in_memory
from penstock.engine.trains.types import arrow_schema
from penstock.model.schema import Column, Schema
from penstock.model.trains import END_OF_TIME
from penstock.plan.algebra.aggregates import _MAKERS
from penstock.plan.operators import EventTime, Scan, key
from penstock.plan.operators.graph import Graph
from penstock.plan.relations.sources import StreamSource
from penstock.plan.select.bind import Binder
from penstock.plan.sharing.units import Unit, cut_at_shared
from penstock.sql import parse_select

pytestmark = pytest.mark.spark

# Every example is some Spark jobs: a failure is told as it was found.
SLOW = settings(deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
START = datetime(2024, 1, 1, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
SCHEMA = Schema(
    tuple(
        Column(name, kind)
        for name, kind in {
            "ts": "timestamp",
            "k": "string",
            "u": "bigint",
            "i": "int",
            "d": "double",
            "m": "decimal(10,2)",
            "b": "boolean",
            "s": "string",
        }.items()
    )
)
SCAN = Scan("s", 1, SCHEMA, (EventTime("ts"),))

# As Spark has them. Doubles are quarters, so that their sums are exact in any order.
EXACT = {
    "count(*)": "count(*)",
    "count_i": "count(i)",
    "count_pair": "count(i, s)",
    "count_where": "count(*) FILTER (WHERE i > 0)",
    "count_if": "count_if(b)",
    "count_distinct": "count(DISTINCT i)",
    "count_distinct_pair": "count(DISTINCT i, s) FILTER (WHERE b)",
    "approx_count_distinct": "approx_count_distinct(i)",
    "collect_set": "array_sort(collect_set(i))",
    "collect_list": "array_sort(collect_list(s))",
    "array_agg": "array_sort(array_agg(i))",
    "nulls_listed": "array_sort(collect_list(i) RESPECT NULLS)",
    "nulls_in_set": "array_sort(collect_set(i) RESPECT NULLS)",
    "nulls_in_array": "size(array_agg(s) RESPECT NULLS)",
    "nulls_left_out": "size(collect_list(i) IGNORE NULLS)",
    "hll": "hll_sketch_estimate(hll_sketch_agg(i))",
    "theta": "theta_sketch_estimate(theta_sketch_agg(i))",
    "sum_i": "sum(i)",
    "sum_d": "sum(d)",
    "sum_m": "sum(m)",
    "sum_where": "sum(i) FILTER (WHERE b)",
    "avg_i": "avg(i)",
    "mean_d": "mean(d)",
    "avg_m": "avg(m)",
    "avg_where": "avg(i) FILTER (WHERE b OR i IS NULL)",
    "min_s": "min(s)",
    "max_m": "max(m)",
    "min_ts": "min(ts)",
    "bool_and": "bool_and(b)",
    "every": "every(b)",
    "bool_or": "bool_or(b)",
    "some": "some(b)",
    "any": "any(b)",
    "bit_and": "bit_and(i)",
    "bit_or": "bit_or(i)",
    "bit_xor": "bit_xor(i)",
    "max_by": "max_by(s, u)",
    "min_by": "min_by(i, u)",
    "min_by_where": "min_by(u, m) FILTER (WHERE u < 3 OR u >= 3)",
}
# Equal within rounding.
CLOSE = {
    "variance": "variance(d)",
    "var_samp": "var_samp(i)",
    "var_pop": "var_pop(d)",
    "std": "std(d)",
    "stddev": "stddev(i)",
    "stddev_samp": "stddev_samp(d)",
    "stddev_pop": "stddev_pop(d)",
    "var_where": "var_pop(d) FILTER (WHERE b)",
}
# Spark goes by arrival, we go by event time: told by hand below.
BY_TIME = {
    "first": "first(s)",
    "first_value": "first_value(i)",
    "any_value": "any_value(s)",
    "first_known": "first(s) IGNORE NULLS",
    "first_true": "first(i, true)",
    "last": "last(s)",
    "last_value": "last_value(i)",
    "last_known": "last(i) IGNORE NULLS",
    "last_where": "last(i) FILTER (WHERE b OR u > 2) IGNORE NULLS",
}

ROWS = st.lists(
    st.tuples(
        st.integers(0, 25),
        st.sampled_from(["x", "y", None]),
        st.none() | st.integers(-5, 5),
        st.none() | st.integers(-40, 40).map(lambda n: n / 4),
        st.none() | st.decimals(-999, 999, places=2),
        st.none() | st.booleans(),
        st.none() | st.sampled_from(["", "a", "b", "é"]),
    ),
    max_size=30,
)
WINDOWS = st.sampled_from([(10, 10), (10, 4), (3, 1)])


def numbers(unit: Unit, first: datetime, last: datetime) -> tuple[int, int]:
    """Return the numbers of the windows that start between two times."""
    assert unit.aggregate is not None
    slide = unit.aggregate.assigner.lower
    return micros(first) // slide, micros(last) // slide


@dataclass(frozen=True)
class Shop:
    """What turns SQL into units and runs them."""

    sessions: Sessions
    processor: Processor

    @lru_cache  # noqa: B019  (one shop a run; binding asks Spark about every call)
    def unit(self, select: str) -> Unit:
        binder = Binder(lambda _: StreamSource(SCAN), SparkAnalyst(self.sessions.analysis))
        (unit,) = cut_at_shared(Graph({"q": binder.bind(parse_select(select))}))
        return unit

    def windows(self, unit: Unit, cuts: list[pa.Table], compacted: int) -> pa.Table:
        """Return all windows, from the partials of each cut, the first ones combined before."""
        parts = []
        for cut in cuts:
            partials = self.processor.panes(unit, {key(SCAN): [in_memory(cut)]})
            if partials is not None:
                parts.append(in_memory(partials))
        if compacted and parts:
            combined = self.processor.compact(unit, parts[:compacted])
            parts = [in_memory(combined), *parts[compacted:]]
        assert unit.aggregate is not None
        size = timedelta(microseconds=unit.aggregate.assigner.end)
        return self.processor.close(unit, parts, numbers(unit, START - size, START + DAY))

    def batch(self, rows: pa.Table, select: str) -> pa.Table:
        self.sessions.large.createDataFrame(rows).createOrReplaceTempView("whole")
        return self.sessions.large.sql(select).toArrow()


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    sessions = open_sessions(spark=spark)
    return Shop(sessions, Processor(sessions, tmp_path_factory.mktemp("spill"), driver_rows=0))


def micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    """Return rows of seconds, key, int, double, decimal, boolean and text; u numbers them."""
    dicts = [
        {"ts": START + t * SECOND, "k": k, "u": u, "i": i, "d": d, "m": m, "b": b, "s": s}
        for u, (t, k, i, d, m, b, s) in enumerate(rows)
    ]
    return pa.Table.from_pylist(dicts, arrow_schema(SCHEMA))


def cut(rows: pa.Table, places: list[int]) -> list[pa.Table]:
    bounds = [0, *sorted(place % (rows.num_rows + 1) for place in places), rows.num_rows]
    return [rows.slice(low, high - low) for low, high in itertools.pairwise(bounds)]


def by_window(found: pa.Table) -> dict[tuple[Any, Any], dict[str, Any]]:
    rows = found.to_pylist()
    keyed = {(row.pop("w"), row.pop("k")): row for row in rows}
    assert len(keyed) == len(rows), "a window came twice"
    return keyed


def listed(calls: dict[str, str]) -> str:
    return ", ".join(f"{call} AS `{name}`" for name, call in calls.items())


def windowed(calls: dict[str, str], window: tuple[int, int]) -> str:
    size, slide = window
    return (
        f"SELECT window_start AS w, k, {listed(calls)} "
        f"FROM s [RANGE {size} SECONDS SLIDE {slide} SECONDS] GROUP BY k"
    )


def batched(calls: dict[str, str], window: tuple[int, int]) -> str:
    size, slide = window
    return (
        f"SELECT window.start AS w, k, {listed(calls)} FROM whole "
        f"GROUP BY window(ts, '{size} seconds', '{slide} seconds'), k"
    )


def test_every_aggregate_has_a_law_here() -> None:
    calls = " ".join([*EXACT.values(), *CLOSE.values(), *BY_TIME.values()])
    named = {name: f"{name}(" for name in _MAKERS} | {"count distinct": "count(DISTINCT"}
    assert [name for name, call in named.items() if call not in calls] == []


GROUPS = [dict(list((EXACT | CLOSE).items())[at::5]) for at in range(5)]


@pytest.mark.parametrize("calls", GROUPS, ids=lambda calls: next(iter(calls)))
@given(ROWS, st.lists(st.integers(0, 30), max_size=2), st.integers(0, 3), WINDOWS)
@settings(SLOW, max_examples=4)
def test_partials_of_any_cut_combine_to_sparks_own_answer(
    shop: Shop,
    calls: dict[str, str],
    rows: list[tuple[Any, ...]],
    places: list[int],
    compacted: int,
    window: tuple[int, int],
) -> None:
    whole = table(rows)
    unit = shop.unit(windowed(calls, window))
    found = by_window(shop.windows(unit, cut(whole, places), compacted))
    expected = by_window(shop.batch(whole, batched(calls, window)))
    assert found.keys() == expected.keys()
    for place, row in expected.items():
        for name in calls:
            is_near = name in CLOSE and row[name] is not None
            near = pytest.approx(row[name], rel=1e-9, abs=1e-12) if is_near else row[name]
            assert found[place][name] == near, name


@pytest.mark.parametrize("calls", GROUPS, ids=lambda calls: next(iter(calls)))
def test_the_types_are_those_of_sparks_own_answer(shop: Shop, calls: dict[str, str]) -> None:
    unit = shop.unit(windowed(calls, (10, 10)))
    whole = table([(0, "x", 1, 1.0, None, None, None)])  # of no rows, Spark's sketches are NULL
    batch = f"SELECT {listed(calls)} FROM whole"
    expected = {field.name: shape(field.type) for field in shop.batch(whole, batch).schema}
    found = {field.name: shape(field.type) for field in arrow_schema(unit.root.schema)}
    assert {name: found[name] for name in expected} == expected


def shape(kind: pa.DataType) -> str:
    """Return a type without what it says of nulls inside: that is not kept."""
    return str(kind).replace(" not null", "")


def chosen(rows: list[dict[str, Any]], column: str, pick: Any, **how: bool) -> Any:
    """Return the value at the least (greatest) time; of several the least (greatest)."""
    known = [row for row in rows if not how.get("known") or row[column] is not None]
    if not known:
        return None
    at = pick(row["ts"] for row in known)
    values = [row[column] for row in known if row["ts"] == at]
    return pick(values, key=lambda value: (value is not None, value))


@given(ROWS, st.lists(st.integers(0, 30), max_size=3), st.permutations(range(4)))
@settings(SLOW, max_examples=5)
def test_first_and_last_go_by_event_time_in_whatever_order_tuples_come(
    shop: Shop, rows: list[tuple[Any, ...]], places: list[int], order: list[int]
) -> None:
    whole = table(rows)
    cuts = cut(whole, places)
    cuts = [cuts[place] for place in order if place < len(cuts)]
    unit = shop.unit(windowed(BY_TIME, (10, 10)))
    found = by_window(shop.windows(unit, cuts, compacted=2))
    groups: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for row in whole.to_pylist():
        start = START + (row["ts"] - START) // (10 * SECOND) * 10 * SECOND
        groups.setdefault((start, row["k"]), []).append(row)
    assert found == {
        place: {
            "first": chosen(group, "s", min),
            "first_value": chosen(group, "i", min),
            "any_value": chosen(group, "s", min),
            "first_known": chosen(group, "s", min, known=True),
            "first_true": chosen(group, "i", min, known=True),
            "last": chosen(group, "s", max),
            "last_value": chosen(group, "i", max),
            "last_known": chosen(group, "i", max, known=True),
            "last_where": chosen(
                [row for row in group if row["b"] or row["u"] > 2], "i", max, known=True
            ),
        }
        for place, group in groups.items()
    }


def test_windows_before_1970_and_at_its_edge_are_sparks_own(shop: Shop) -> None:
    early = [datetime(1969, 12, 31, 23, 59, 50, tzinfo=UTC) + n * SECOND for n in range(20)]
    rows = pa.Table.from_pylist([{"ts": ts, "u": 1} for ts in early], arrow_schema(SCHEMA))
    unit = shop.unit(windowed({"n": "sum(u)"}, (7, 3)))
    partials = shop.processor.panes(unit, {key(SCAN): [in_memory(rows)]})
    assert partials is not None
    around = numbers(unit, EPOCH - 60 * SECOND, EPOCH + 60 * SECOND)
    found = shop.processor.close(unit, [in_memory(partials)], around)
    batch = batched({"n": "sum(u)"}, (7, 3))
    assert by_window(found) == by_window(shop.batch(rows, batch))


def test_only_windows_of_the_range_close(shop: Shop) -> None:
    rows = table([(second, "x", 1, None, None, None, None) for second in range(30)])
    unit = shop.unit(windowed({"n": "sum(i)"}, (10, 5)))
    partials = shop.processor.panes(unit, {key(SCAN): [in_memory(rows)]})
    assert partials is not None
    middle = numbers(unit, START + 5 * SECOND, START + 15 * SECOND)
    found = by_window(shop.processor.close(unit, [in_memory(partials)], middle))
    assert {(w - START) // SECOND: row["n"] for (w, _), row in found.items()} == {
        5: 10,
        10: 10,
        15: 10,
    }


def test_moments_of_large_values_do_not_cancel(shop: Shop) -> None:
    values = [1e9 + n / 4 for n in range(8)]
    rows = table([(0, "x", None, value, None, None, None) for value in values])
    unit = shop.unit(windowed({"v": "var_pop(d)"}, (10, 10)))
    found = by_window(shop.windows(unit, cut(rows, [1, 3, 6]), compacted=2))
    ((row,),) = [[*found.values()]]
    mean = sum(Decimal(v) for v in values) / 8
    expected = sum((Decimal(v) - mean) ** 2 for v in values) / 8
    assert row["v"] == pytest.approx(float(expected), rel=1e-9)


def test_what_is_computed_over_windows_runs_at_the_close(shop: Shop) -> None:
    rows = table([(0, "x", 3, None, None, None, None), (1, "y", 5, None, None, None, None)])
    unit = shop.unit(
        "SELECT window_end AS w, upper(k) AS k, max(i) * 2 AS n FROM s [RANGE 10 SECONDS] "
        "WHERE i > 0 GROUP BY upper(k) HAVING max(i) > 4"
    )
    found = shop.windows(unit, [rows], 0).to_pylist()
    assert found == [{"w": START + 10 * SECOND, "k": "Y", "n": 10}]


def test_rows_of_closed_windows_are_late_rows_of_the_aggregates_input(shop: Shop) -> None:
    rows = table([(second, "x", second, None, None, None, None) for second in range(5)])
    unit = shop.unit("SELECT count(*) AS n FROM s [RANGE 1 SECONDS] WHERE i <> 1")
    assert unit.aggregate is not None
    state, marks = AggregateState.alone(unit.aggregate), (micros(START + 3 * SECOND),)
    for _ in range(2):
        held = {key(SCAN): [in_memory(rows)]}
        late = state.step(Run(shop.processor, unit, held, marks, marks)).late
    assert late is not None
    assert late["i"].to_pylist() == [0, 2]
    assert late.schema == arrow_schema(SCHEMA)


def test_tuples_that_windows_keep_whole_are_all_there_however_many_came(shop: Shop) -> None:
    unit = shop.unit("SELECT window_start, i FROM s [RANGE 10 SECONDS]")
    assert unit.aggregate is not None
    assert unit.aggregate.raw is not None
    state, many = AggregateState.alone(unit.aggregate), SMALL_ROWS // COMPACT_PARTS + 1
    for _ in range(COMPACT_PARTS):  # each is small; together they are not
        rows = {key(SCAN): [in_memory(table([(1, "x", 1, None, None, None, None)] * many))]}
        state.step(Run(shop.processor, unit, rows, (micros(START),), (micros(START),)))
    assert len(state.partials.parts) == 1
    end = (END_OF_TIME,)
    step = state.step(Run(shop.processor, unit, {key(SCAN): []}, end, (micros(START),)))
    assert step.table.num_rows == COMPACT_PARTS * many
