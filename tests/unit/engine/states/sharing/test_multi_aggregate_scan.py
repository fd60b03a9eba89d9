"""A multi-aggregate scan makes the partials of every section."""

import bisect
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyspark import cloudpickle

from penstock.engine.states.sharing.multi_aggregate_scan import (
    SECTION,
    TABLE,
    scan_batches,
    scan_table,
    tables_of,
)
from penstock.engine.states.windows.section_rows import asked_for
from penstock.model.own_names import own
from penstock.plan.algebra.aggregates import Aggregate
from penstock.plan.operators.bundles.member import Member, member_of, sections_of
from penstock.plan.operators.windows.window_aggregate import PANE
from penstock.plan.sharing.buckets import NONE, Buckets
from penstock.plan.sharing.layout import Layout, layout_of
from penstock.plan.sharing.multi_aggregate_scan import (
    MultiAggregateScan,
    all_buckets,
    multi_scan_of,
)
from tests.unit.plan.bundles.queries import COUNT, MAX, SCAN, SCHEMA, SECOND, aggregate, kept

Row = tuple[int, str, float | None]
ROWS = st.lists(
    st.tuples(
        st.integers(0, 40 * SECOND),
        st.sampled_from(("a", "b", "c")),
        st.none() | st.sampled_from((1.0, 2.0, 3.0, 4.5)),
    ),
    min_size=1,
    max_size=40,
)
CONDITIONS: dict[str, Callable[[str, float], bool]] = {  # of a row whose x is known
    "`x` > 2": lambda _, x: x > 2,
    "`x` <= 3": lambda _, x: x <= 3,
    "`k` = 'a' AND `x` > 1": lambda k, x: k == "a" and x > 1,
    "`x` = 3 AND `k` > 'a'": lambda k, x: k > "a" and x == 3,
    "upper(`k`) = 'B'": lambda k, _: k == "b",
    "": lambda *_: True,
}


def holds(text: str, k: str, x: float | None) -> bool:
    if x is None:
        return "`x`" not in text and CONDITIONS[text](k, 0)
    return CONDITIONS[text](k, x)


def members(keys: Sequence[tuple[str, ...]]) -> dict[str, Member]:
    """Return a member for each condition and set of keys, by the condition and a number."""
    found = {}
    for text in CONDITIONS:
        below = kept(SCAN, text) if text else SCAN
        for place, each in enumerate(keys):
            made = member_of(aggregate(below, 10, 5, (COUNT, MAX), each))
            assert made is not None
            found[f"{text}|{place}"] = made
    return found


def projected(
    multi_scan: MultiAggregateScan, layouts: Sequence[Layout], rows: Sequence[Row]
) -> pa.Table:
    """Return what Spark would select for the scan."""
    numbers = {
        every.number_sql(name): every
        for (name, _), every in zip(
            multi_scan.searches, _searched(multi_scan, layouts), strict=True
        )
    }
    columns: dict[str, Any] = {}
    for name, sql in multi_scan.columns:
        if sql in numbers:
            every = numbers[sql]
            values = [row[1] if every.column == "k" else row[2] for row in rows]
            columns[name] = pa.array([number(every, value) for value in values], pa.int32())
        elif sql == "unix_micros(`ts`)":
            columns[name] = pa.array([at for at, _, _ in rows], pa.int64())
        elif sql == "`k`":
            columns[name] = pa.array([k for _, k, _ in rows])
        elif sql == "`x`":
            columns[name] = pa.array([x for _, _, x in rows], pa.float64())
        else:
            bit = int(sql.rsplit(", ", 2)[1].removesuffix("L"))
            assert sql == f"IF((upper(`k`) = 'B'), {bit}L, 0L)"
            columns[name] = pa.array([bit * (k == "b") for _, k, _ in rows], pa.int64())
    return pa.table(columns)


def _searched(multi_scan: MultiAggregateScan, layouts: Sequence[Layout]) -> list[Buckets]:
    by_sql = {every.search_sql(): every for every in all_buckets(layouts).values()}
    return [by_sql[sql] for _, sql in multi_scan.searches]


def number(every: Buckets, value: float | str | None) -> int:
    return NONE if value is None else bisect.bisect_left(every.cuts, (value, 0.5))


@given(ROWS)
def test_every_member_finds_the_tuples_that_it_asks_for(rows: list[Row]) -> None:
    asked = members([("`k`",), ()])
    sections = list(sections_of(list(asked.values())).values())
    layouts = [layout_of(each) for each in sections]
    multi_scan = multi_scan_of(layouts, SCHEMA)
    table = projected(multi_scan, layouts, rows)
    half = len(rows) // 2
    answers = [
        scan_table(table.slice(0, half), multi_scan.shares),
        scan_table(table.slice(half), multi_scan.shares),
    ]
    made = tables_of(pa.Table.from_batches(answers), len(layouts))
    for name, member in asked.items():
        text, keyed = name.split("|")
        place = next(n for n, each in enumerate(sections) if member in each)
        partials = made[place]
        assert partials is not None
        mine = partials.filter(
            pa.array(asked_for(partials, layouts[place].predicate_index, member.asked))
        )
        wanted: Counter[Any] = Counter()
        for at, k, x in rows:
            if holds(text, k, x):
                wanted[at - at % (5 * SECOND), *((k,) if keyed == "0" else ())] += 1
        keys = [PANE, *(key for key, _ in layouts[place].keys)]
        counts = next(n for n in mine.column_names if n.startswith(own("a")) and _is_count(mine, n))
        found: Counter[Any] = Counter()
        for row in mine.to_pylist():
            found[tuple(row[key] for key in keys)] += row[counts]
        assert found == wanted, name


def _is_count(table: pa.Table, name: str) -> bool:
    return bool(pa.types.is_int64(table[name].type))


def test_what_arrow_cannot_group_as_spark_does_is_left_to_spark() -> None:
    layout = layout_of([members([("`k`",)])["|0"]])
    multi_scan = multi_scan_of([layout], SCHEMA)
    table = projected(multi_scan, [layout], [(1, "a", float("nan"))])
    answer = scan_table(table, multi_scan.shares)
    assert answer.column(TABLE).to_pylist() == [b""]
    assert tables_of(pa.Table.from_batches([answer]), 1) == [None]


def test_no_tuples_are_no_partials() -> None:
    empty = pa.table({SECTION: pa.array([], pa.int64()), TABLE: pa.array([], pa.binary())})
    (found,) = tables_of(empty, 1)
    assert found is not None
    assert found.num_rows == 0


def test_values_are_not_cast_where_arrow_sums_them_up_alike() -> None:
    total = Aggregate("sum(`x`)", ("sum(`x`)",), ("CAST(sum({0}) AS double)",))
    other = Aggregate("sum(`k`)", ("sum(`k`)",), ("CAST(sum({0}) AS double)",))
    member = member_of(aggregate(aggregates=(total, other, MAX)))
    assert member is not None
    columns = [sql for _, sql in multi_scan_of([layout_of([member])], SCHEMA).columns]
    assert sorted(columns) == ["CAST(`k` AS DOUBLE)", "`k`", "`x`", "unix_micros(`ts`)"]


WITHOUT = """
import pickle, sys
sys.modules["penstock"] = None
work, batches = pickle.load(sys.stdin.buffer)
sys.stdout.buffer.write(pickle.dumps(list(work(batches))))
"""


def test_workers_need_no_penstock() -> None:
    layout = layout_of([members([("`k`",)])["`x` > 2|0"]])
    multi_scan = multi_scan_of([layout], SCHEMA)
    batches = projected(multi_scan, [layout], [(SECOND, "a", 3.0)]).to_batches()
    sent = cloudpickle.dumps((scan_batches(multi_scan.shares), batches))
    command = [sys.executable, "-c", WITHOUT]
    ran = subprocess.run(command, input=sent, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    (partials,) = tables_of(pa.Table.from_batches(pickle.loads(ran.stdout)), 1)
    assert partials is not None
    assert partials.num_rows == 1
