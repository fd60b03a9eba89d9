"""The state of a join without windows, run by run without Spark, against joins of all that came."""

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.states.joins import key_orders
from penstock.engine.states.joins.oblivious_join import ObliviousJoinState
from penstock.engine.states.state import Run, RunOutput
from penstock.engine.trains.rows import in_memory
from penstock.model.definitions import Keeping
from penstock.model.key_order import KeyOrder
from penstock.model.own_names import side
from penstock.model.schema import Column, Schema
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import EventTime, key
from penstock.plan.operators.joins.join_input import JoinStep
from penstock.plan.operators.joins.oblivious_join import KeyedInput, ObliviousJoin
from penstock.plan.operators.tuples.scan import Scan
from penstock.plan.sharing.units import Unit
from penstock.qos.joins.hindsight import scrambling_factor
from tests.examples import examples
from tests.unit.model.arrow_twin import arrow_without_spark

SCHEMA = Schema((Column("k", "bigint"), Column("v", "bigint")))
ARROW = pa.schema([("k", pa.int64()), ("v", pa.int64())])
KINDS = ("INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")
EXTREMES = st.sampled_from([-(2**63), -(2**63) + 1, -1, 2**63 - 2, 2**63 - 1])
KEYS = st.one_of(st.integers(-3, 9), st.none(), EXTREMES)
Row = tuple[int | None, int]


@pytest.fixture(autouse=True)
def _without_spark_and_soon_strays() -> Iterator[None]:
    with arrow_without_spark(), mock.patch.object(key_orders, "AT_FIRST", 1):
        yield


@dataclass
class Play:
    """Two inputs and how they are cut: each step is an input and how many tuples come of it."""

    sides: list[list[Row]]
    steps: list[tuple[int, int]]
    kind: str
    orders: list[KeyOrder]
    keeping: Keeping
    reopened: set[int] = field(default_factory=set)


@st.composite
def plays(draw: st.DrawFn) -> Play:
    sides = []
    for _ in range(2):
        keys = draw(st.lists(KEYS, max_size=14))
        far = draw(st.integers(0, 4))
        places = {at: at + draw(st.integers(0, far)) for at in range(len(keys))}
        rising = sorted(key for key in keys if key is not None)
        keys = [None if key is None else rising.pop(0) for key in keys]
        order = sorted(places, key=lambda at: (places[at], at))
        sides.append([(keys[at], 100 + at) for at in order])
    steps = draw(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 5)), max_size=12))
    strategy = draw(st.sampled_from(["auto", "plain", "dbf", "msf", "hybrid"]))
    spills = strategy not in ("plain", "msf") and draw(st.booleans())
    stated = draw(st.sampled_from(["truly", "too small", "not"]))
    return Play(
        sides,
        steps,
        draw(st.sampled_from(KINDS)),
        [_order(each, stated) for each in sides],
        Keeping(strategy, 64 if spills else None),
        set(draw(st.lists(st.integers(0, 12), max_size=2))),
    )


def _order(rows: Sequence[Row], stated: str) -> KeyOrder:
    factor = scrambling_factor(np.array([k for k, _ in rows if k is not None], dtype=np.int64))
    known = {"truly": factor, "too small": factor // 2, "not": None}
    return KeyOrder("k", known[stated])


def join_of(play: Play) -> ObliviousJoin:
    names = [(("k", "k"), ("v", "v")), (("k", "r_k"), ("v", "r_v"))]
    joined = tuple(
        KeyedInput(Scan(name, 0, SCHEMA), EventTime("k"), columns, order)
        for name, columns, order in zip("ab", names, play.orders, strict=True)
    )
    on = f"({side(0)}.`k` = {side(1)}.`r_k`)"
    return ObliviousJoin(joined, (JoinStep(play.kind, on),), play.keeping)


def processor_at(spill: Path) -> Processor:
    sessions: Any = SimpleNamespace(slots=1, tables={})
    return Processor(sessions, spill)


def step(
    state: ObliviousJoinState,
    processor: Processor,
    parts: Sequence[Sequence[Row]],
    ends: tuple[int, int] = (BEGIN_OF_TIME, BEGIN_OF_TIME),
) -> RunOutput:
    """Run a state over new tuples of both inputs."""
    leaves = tuple(each.operator for each in state.join.joined)
    rows = {}
    for leaf, part in zip(leaves, parts, strict=True):
        table = pa.table([[k for k, _ in part], [v for _, v in part]], schema=ARROW)
        rows[key(leaf)] = [in_memory(table)] if part else []
    return state.step(Run(processor, Unit(state.join, leaves, state.join), rows, ends, ends))


def played(play: Play, spill: Path) -> tuple[Counter[Any], list[list[Row]], float]:
    """Return the rows, the late tuples of each input, and the accuracy as told."""
    join, processor = join_of(play), processor_at(spill)
    state, left = ObliviousJoinState(join), [list(each) for each in play.sides]
    found: Counter[Any] = Counter()
    late: list[list[Row]] = [[], []]
    ends = [BEGIN_OF_TIME, BEGIN_OF_TIME]
    try:
        for number, (which, count) in enumerate(
            [*play.steps, (0, len(left[0])), (1, len(left[1]))]
        ):
            if number in play.reopened:
                state = ObliviousJoinState.back(join, state.kept())
            parts: list[list[Row]] = [[], []]
            parts[which], left[which] = left[which][:count], left[which][count:]
            if number >= len(play.steps):
                ends[which] = END_OF_TIME
            output = step(state, processor, parts, (ends[0], ends[1]))
            found.update(tuple(row.values()) for row in output.table.to_pylist())
            for row in output.late.to_pylist() if output.late is not None else []:
                place, prefix = (0, "") if row["v"] is not None else (1, "r_")
                late[place].append((row[f"{prefix}k"], row[f"{prefix}v"]))
    finally:
        processor.close_lanes()
    return found, late, state.accuracy()


def batch(play: Play, late: Sequence[Sequence[Row]]) -> Counter[Any]:
    """Return what the join of all tuples gives that are not late, by brute force."""
    one, other = (
        [row for row in rows if row not in gone]
        for rows, gone in zip(play.sides, late, strict=True)
    )
    pairs = [(a, b) for a in one for b in other if a[0] is not None and a[0] == b[0]]
    met = [{a for a, _ in pairs}, {b for _, b in pairs}]
    found: Counter[Any] = Counter()
    if play.kind == "LEFT SEMI":
        return Counter(met[0])
    if play.kind == "LEFT ANTI":
        return Counter(row for row in one if row not in met[0])
    found.update((*a, *b) for a, b in pairs)
    if play.kind in ("LEFT", "FULL"):
        found.update((*a, None, None) for a in one if a not in met[0])
    if play.kind in ("RIGHT", "FULL"):
        found.update((None, None, *b) for b in other if b not in met[1])
    return found


@settings(max_examples=examples(150), deadline=None)
@given(plays())
def test_a_join_gives_the_batch_join_of_all_that_is_not_late(play: Play) -> None:
    with tempfile.TemporaryDirectory() as spill:
        found, late, accuracy = played(play, Path(spill))
    wanted = batch(play, late)
    if play.kind == "INNER" and play.orders[0].scrambled is None:
        assert found <= wanted
        assert accuracy <= (sum(found.values()) / sum(wanted.values()) if wanted else 1.0)
    else:
        assert found == wanted


def test_what_was_passed_stays_passed_when_the_measured_factor_grows(tmp_path: Path) -> None:
    """Partners of 2 and 3 are gone: neither may be said to have had none."""
    rising = [(at, 100 + at) for at in range(10)]
    sides = [[*rising, (2, 200), (3, 201)], rising]
    steps = [(0, 10), (1, 10), (0, 1), (0, 1)]
    measured = [KeyOrder("k"), KeyOrder("k")]
    found, late, _ = played(Play(sides, steps, "LEFT ANTI", measured, Keeping()), tmp_path)
    assert found == Counter()
    assert late == [[(2, 200), (3, 201)], []]


def test_the_least_key_is_decided_upon_no_sooner_than_others(tmp_path: Path) -> None:
    least = (-(2**63), 100)
    orders = [KeyOrder("k", 0), KeyOrder("k", 0)]
    play = Play([[least], [least]], [(0, 1), (1, 1)], "LEFT ANTI", orders, Keeping())
    assert played(play, tmp_path)[0] == Counter()


def test_a_tuple_stays_for_the_last_that_may_come_for_it(tmp_path: Path) -> None:
    """With factor 2 the partner of 5 comes two places behind a greater key, and no later."""
    sides = [[(5, 100)], [(7, 100), (8, 101), (5, 102)]]
    orders = [KeyOrder("k", 0), KeyOrder("k", 2)]
    steps = [(0, 1), (1, 1), (1, 1), (1, 1)]
    found, late, _ = played(Play(sides, steps, "INNER", orders, Keeping()), tmp_path)
    assert found == Counter([(5, 100, 5, 102)])
    assert late == [[], []]


def test_states_share_the_memory_of_their_processor(tmp_path: Path) -> None:
    processor = processor_at(tmp_path)
    processor.joins.most = 8_000
    orders = [KeyOrder("k", 0), KeyOrder("k", 0)]
    plays = [Play([], [], kind, orders, Keeping()) for kind in ("INNER", "LEFT")]
    fixed = Play([], [], "INNER", orders, Keeping("plain"))
    states = [ObliviousJoinState(join_of(play)) for play in (fixed, *plays)]
    rows = [(at, at) for at in range(400)]
    found = [0 for _ in states]
    for begin in range(0, 400, 50):
        for state in states:
            step(
                state,
                processor,
                [rows[begin : begin + 50 if state is not states[0] else begin + 10], []],
            )
    told = [[state.told()[0].memory_bytes, state.told()[0].far] for state in states]
    assert told[0] == [80 * 24, 0]
    assert all(far > 0 for _, far in told[1:])
    assert all(state.granted == (8_000 - 80 * 24) / 2 for state in states[1:])
    assert sum(size for size, _ in told) <= 8_000
    for at, state in enumerate(states):
        for begin in range(0, 400, 100):
            found[at] += step(state, processor, [[], rows[begin : begin + 100]]).table.num_rows
    assert found == [80, 400, 400]
    processor.close_lanes()
