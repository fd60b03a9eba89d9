"""Joins in a bundle give what each gives alone, whoever comes and goes between its runs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.engine.spark.analysis import SparkAnalyst
from penstock.engine.spark.application.session import open_sessions
from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.states import restored
from penstock.engine.states.joins.crowded_keys import Meeting
from penstock.engine.states.joins.kept_rows import JoinRows, KeptRows
from penstock.engine.states.joins.window_join import WindowJoinState
from penstock.engine.states.sharing import join_groups, joins
from penstock.engine.states.sharing.audiences import Audiences
from penstock.engine.states.sharing.join_groups import PAIRS_A_PLAN, groups_of
from penstock.engine.states.sharing.joins import MOST_SPLIT, JoinsState
from penstock.engine.states.state import KeptPart, KeptState, Run, RunOutput
from penstock.engine.trains.rows import in_memory
from penstock.engine.trains.types import arrow_schema
from penstock.model.own_names import LEFT, RIGHT
from penstock.model.schema import Column, Schema
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import EventTime, JoinBundle, Scan, key
from penstock.plan.operators.bundles.join_member import JoinMember, join_member_of
from penstock.plan.relations.sources import StreamSource
from penstock.plan.select.bind import Binder
from penstock.plan.sharing.bundles import bundle_of
from penstock.plan.sharing.shared_join import added
from penstock.plan.sharing.units import Unit
from penstock.sql import parse_select
from tests.examples import IS_WHOLE, examples

pytestmark = pytest.mark.spark

LAW = settings(
    max_examples=examples(100),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
SECOND = 1_000_000
TYPES = {"ts": "timestamp", "k": "string", "n": "int", "x": "double"}
SCHEMA = Schema(tuple(Column(name, kind) for name, kind in TYPES.items()))
SCANS = {name: Scan(name, 1, SCHEMA, (EventTime("ts"),)) for name in "ab"}
LEAVES = tuple(SCANS.values())
JOINED = "a [RANGE {0} SECONDS] JOIN b [RANGE {1} SECONDS] ON a.k = b.k"
SELECTS = (
    "SELECT a.k, a.n AS an, b.n AS bn FROM " + JOINED.format(5, 3),
    "SELECT a.ts, b.x FROM " + JOINED.format(5, 3) + " WHERE a.n > 1",
    "SELECT a.ts, b.x FROM " + JOINED.format(5, 3) + " WHERE a.n > 3",
    "SELECT a.ts AS t, b.ts AS u FROM " + JOINED.format(1, 9) + " WHERE b.n BETWEEN 1 AND 3",
    "SELECT a.n + b.n AS s, 'w' AS w FROM " + JOINED.format(2, 2) + " WHERE a.n + b.n > 5",
    "SELECT a.*, b.n AS bn FROM " + JOINED.format(2, 2) + " AND a.n < b.n WHERE a.x > 1",
    "SELECT b.*, a.x AS ax FROM " + JOINED.format(9, 1) + " WHERE a.n % 2 = 0 AND b.x < 3",
    # The join is the fifth's: whoever comes later reads on, as from one node.
    "SELECT a.n AS n FROM " + JOINED.format(2, 2) + " WHERE a.n + b.n > 5",
)
EQUAL = frozenset({4, 7})
PLACES = st.integers(0, len(SELECTS) - 1)


@dataclass(frozen=True)
class Bound:
    """A processor, one that asks Spark for all, and the members that the SELECTs are."""

    processor: Processor
    on_spark: Processor
    members: Sequence[JoinMember]


@pytest.fixture(scope="module")
def bound(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Bound:
    sessions = open_sessions(spark=spark)
    binder = Binder(lambda name: StreamSource(SCANS[name]), SparkAnalyst(sessions.analysis))
    members = [join_member_of(binder.bind(parse_select(each))) for each in SELECTS]
    spill = tmp_path_factory.mktemp("spill")
    found = [each for each in members if each is not None]
    assert len(found) == len(SELECTS)
    return Bound(Processor(sessions, spill), Processor(sessions, spill, driver_rows=0), found)


@dataclass(frozen=True)
class Step:
    """Rows of both sides, the watermarks after them, who is here for it, and who is so alone."""

    rows: Mapping[str, pa.Table]
    marks: tuple[int, int]
    here: frozenset[int]
    apart: frozenset[int]
    restarts: bool


ROW = st.tuples(
    st.integers(-6, 4), st.sampled_from(("a", "b", None)), st.integers(0, 4), st.integers(0, 4)
)


@st.composite
def lives(draw: st.DrawFn) -> list[Step]:
    steps, now, here = list[Step](), 0, frozenset[int]()
    for _ in range(draw(st.integers(2, 5))):
        now += draw(st.integers(0, 5))
        changed = draw(st.frozensets(PLACES, max_size=4))
        here = (here ^ changed) or frozenset({0})
        rows = {name: table_of(now, draw(st.lists(ROW, max_size=8))) for name in SCANS}
        behind = draw(st.tuples(*[st.sampled_from((0, 2, 6, 60))] * 2))
        left, right = ((now - each) * SECOND for each in behind)
        if steps:
            left, right = max(left, steps[-1].marks[0]), max(right, steps[-1].marks[1])
        apart = (draw(st.frozensets(PLACES, max_size=2)) & here) - EQUAL
        apart = apart if apart < here else frozenset()
        steps.append(Step(rows, (left, right), here, apart, draw(st.booleans())))
    return [
        *steps,
        replace(steps[-1], rows=dict.fromkeys(SCANS, table_of(0, [])), marks=(END_OF_TIME,) * 2),
    ]


def table_of(now: int, rows: Sequence[tuple[int, str | None, int, int]]) -> pa.Table:
    columns = {
        "ts": pa.array([(now + at) * SECOND for at, *_ in rows], pa.int64()),
        "k": [k for _, k, *_ in rows],
        "n": [n for *_, n, _ in rows],
        "x": [x / 2 for *_, x in rows],
    }
    wanted = arrow_schema(SCHEMA)
    arrays = [pa.array(columns[f.name]).cast(f.type) for f in wanted]
    return pa.table(arrays, schema=wanted)


def run_of(processor: Processor, unit: Unit, step: Step, before: tuple[int, int]) -> Run:
    rows = {key(SCANS[name]): [in_memory(table)] for name, table in step.rows.items()}
    return Run(processor, unit, rows, step.marks, before)


@dataclass
class Alone:
    """Each member by itself, as it would be without bundles; equal joins are one node."""

    bound: Bound
    states: dict[str, WindowJoinState] = field(default_factory=dict)

    def step(self, step: Step, before: tuple[int, int]) -> dict[str, RunOutput]:
        members = [self.bound.members[place] for place in sorted(step.here)]
        first = {key(each.join): each for each in members}
        self.states = {
            name: self.states.get(name) or WindowJoinState(each.join)
            for name, each in first.items()
        }
        found: dict[str, RunOutput] = {}
        following: dict[str, WindowJoinState] = {}
        for member in members:
            name, unit = key(member.join), Unit(member.root, LEAVES, member.join)
            state = WindowJoinState.back(member.join, copied(self.states[name].kept()))
            found[member.key] = state.step(run_of(self.bound.processor, unit, step, before))
            following[name] = state
        self.states = following
        return found


@dataclass
class Together:
    """Members in a bundle, but for some that are apart for a while, with what is theirs."""

    bound: Bound
    state: JoinsState | None = None
    strays: dict[int, WindowJoinState] = field(default_factory=dict)

    def bundle(self, here: frozenset[int]) -> JoinBundle:
        members = tuple(self.bound.members[place] for place in sorted(here))
        alone = bundle_of(members[0].root)
        assert isinstance(alone, JoinBundle)
        return replace(alone, members=members)

    def step(self, step: Step, before: tuple[int, int]) -> dict[str, RunOutput]:
        bundle = self.bundle(step.here - step.apart)
        state = self.state = self.state or JoinsState.new(bundle)
        if step.restarts and state.audiences.names:
            state = self.state = back(state)
        self.let_out(state, step.apart)
        for place in sorted((self.strays.keys() & step.here) - step.apart):
            state.take_in(self.bound.members[place], self.strays[place])
        self.strays = {place: self.strays[place] for place in step.apart}
        state.rearranged(bundle, 0)
        run = run_of(self.bound.processor, Unit(bundle, LEAVES, bundle), step, before)
        state.probe(run, bundle.members)
        found = state.steps(run)
        for place, alone in self.strays.items():
            member = self.bound.members[place]
            unit = Unit(member.root, LEAVES, member.join)
            found[member.key] = alone.step(run_of(self.bound.processor, unit, step, before))
        return found

    def let_out(self, state: JoinsState, apart: frozenset[int]) -> None:
        for place in apart - self.strays.keys():
            member = self.bound.members[place]
            is_known = key(member.join) in state.audiences.names
            new = state.take_out(member) if is_known else WindowJoinState(member.join)
            self.strays[place] = new


def back(state: JoinsState) -> JoinsState:
    """Return what a checkpoint brings back."""
    made = restored(state.bundle, copied(state.kept()))
    assert isinstance(made, JoinsState)
    return made


def copied(kept: KeptState) -> KeptState:
    """Return a state as a checkpoint has it: JSON, and rows of its own."""
    parts = [KeptPart(in_memory(table_of_part(each)), each.facts) for each in kept.parts]
    return KeptState(json.loads(json.dumps(kept.facts)), parts)


def table_of_part(part: KeptPart) -> pa.Table:
    assert part.rows.table is not None
    return part.rows.table


def steps_of(life: Sequence[Step]) -> Iterator[tuple[Step, tuple[int, int]]]:
    before = (BEGIN_OF_TIME, BEGIN_OF_TIME)
    for step in life:
        yield step, before
        before = step.marks


def late_of(output: RunOutput) -> list[str]:
    return sorted(map(str, output.late.to_pylist())) if output.late is not None else []


@dataclass(frozen=True)
class How:
    """From how many pairs on each member has a join of its own, and which rows are split for it."""

    least: float
    most: int


HOWS = st.sampled_from((How(PAIRS_A_PLAN, MOST_SPLIT), How(1e-9, MOST_SPLIT), How(1e-9, 0)))


def obeys(bound: Bound, life: list[Step], how: How) -> None:
    """See that each member's rows and late tuples are those that it has alone."""
    alone, together = Alone(bound), Together(bound)
    for step, before in steps_of(life):
        expected = alone.step(step, before)
        with (
            mock.patch.object(join_groups, "PAIRS_A_PLAN", how.least),
            mock.patch.object(joins, "MOST_SPLIT", how.most),
        ):
            found = together.step(step, before)
        assert found.keys() == expected.keys()
        for name in expected:
            assert found[name].table.equals(expected[name].table)
            assert late_of(found[name]) == late_of(expected[name])


@LAW
@given(life=lives(), how=HOWS)
def test_joins_in_a_bundle_give_the_rows_and_late_tuples_of_each_alone(
    bound: Bound, life: list[Step], how: How
) -> None:
    obeys(bound, life, how)


@settings(LAW, max_examples=20 if IS_WHOLE else 2)
@given(life=lives(), how=HOWS)
def test_so_they_do_where_spark_is_asked_for_all(bound: Bound, life: list[Step], how: How) -> None:
    obeys(Bound(bound.on_spark, bound.on_spark, bound.members), life, how)


def crowd(rows: int, wanted: Sequence[Sequence[bool]]) -> list[tuple[str, ...]]:
    """Return who runs together over new rows of one key, each lot wanted by some of three joins."""
    audiences, numbers = Audiences().among(("p", "q", "r")).of(np.array(wanted, dtype=bool))
    schemas = [
        Schema(tuple(Column(n, "bigint") for n in ("k", added(place)[0], "m"))) for place in (0, 1)
    ]
    kept = KeptRows(tuple(JoinRows(schema, "m", "m") for schema in schemas), "side", "lr")
    tables = [
        pa.table({"k": [1] * rows, name: np.resize(numbers, rows), "m": range(rows)})
        for name in (added(0)[0], added(1)[0])
    ]
    meeting = Meeting(f"({LEFT}.`k` = {RIGHT}.`k`)", (LEFT, RIGHT), 10)
    return groups_of(kept, kept.in_play(kept.parts_of(tables)), meeting, audiences)


@pytest.mark.usefixtures("spark")
def test_joins_run_as_one_unless_they_want_different_tuples_of_crowded_keys() -> None:
    different = np.eye(3, dtype=bool).tolist()
    assert crowd(3_000, different) == [("p",), ("q",), ("r",)]
    assert crowd(300, different) == [("p", "q", "r")]  # so few are compared sooner than planned
    assert crowd(3_000, [[True] * 3]) == [("p", "q", "r")]
