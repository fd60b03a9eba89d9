"""Trials: what is tried, over which rows, and which of the times counts."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest

from penstock.engine.spark.application.session import Sessions
from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.trains.buffers import BufferBounds, BufferPool, Train
from penstock.engine.trains.rows import in_memory
from penstock.model.trains import TrainInfo
from penstock.plan.operators import Scan, key
from penstock.plan.sharing.bundles import bundled
from penstock.plan.sharing.units import Unit, cut_at_shared
from penstock.runtime.views import trial
from penstock.runtime.views.trial import (
    Trial,
    alone,
    fastest,
    held_rows,
    share_of_one,
    spread,
    try_member,
    without,
)
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.plan.twin import World, columns

SCAN = Scan("s", 1, columns(n="bigint"))
UNIT = Unit(SCAN, (SCAN,))


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


@pytest.fixture
def pool(tmp_path: Path) -> BufferPool:
    return BufferPool(tmp_path, BufferBounds())


def put(pool: BufferPool, *sizes: int) -> None:
    buffer = pool.open(key(SCAN), SCAN.schema, keep=10)
    first = 0
    for number, size in enumerate(sizes, 1):
        table = pa.table({"n": pa.array(range(first, first + size), pa.int64())})
        first += size
        buffer.append(Train(TrainInfo(number, size, table.nbytes, 0.0), in_memory(table)))


def bundle_of(count: int) -> Unit:
    world = World()
    for n in range(count):
        world.name(f"q{n}", f"SELECT count(*) AS n FROM traffic [RANGE 1 MINUTE] WHERE mph > {n}")
    (unit,) = cut_at_shared(bundled(world.graph))
    return unit


def test_the_shorter_of_two_times_counts_and_all_take_turns() -> None:
    took = {"a": iter([5.0, 2.0]), "b": iter([1.0, 3.0])}
    now, order = [0.0], []

    def work(name: str) -> None:
        order.append(name)
        now[0] += next(took[name])

    found = fastest({"a": lambda: work("a"), "b": lambda: work("b")}, lambda: now[0])
    assert found == {"a": 2.0, "b": 1.0}
    assert order == ["a", "b", "a", "b"]


@pytest.mark.parametrize(
    ("most", "expected"),
    [(100, range(9)), (7, range(2, 9)), (5, range(4, 9)), (2, range(7, 9)), (0, range(0))],
)
def test_the_latest_rows_that_are_held_are_tried(
    pool: BufferPool, most: int, expected: range
) -> None:
    put(pool, 4, 0, 3, 2)
    (table,) = held_rows(UNIT, pool, most).values()
    assert table["n"].to_pylist() == list(expected)


def test_where_nothing_is_held_there_are_no_rows(pool: BufferPool) -> None:
    assert held_rows(UNIT, pool) == {}
    put(pool)
    assert [table.num_rows for table in held_rows(UNIT, pool).values()] == [0]


def test_trains_stay_as_they_are_when_they_are_looked_at(pool: BufferPool) -> None:
    put(pool, 3, 3)
    buffer = pool.get(key(SCAN))
    assert buffer is not None
    before = [(each.rows.count, each.rows.paths) for each in buffer.held()]
    held_rows(UNIT, pool)
    assert [(each.rows.count, each.rows.paths) for each in buffer.held()] == before


def test_a_member_alone_is_a_unit_over_the_same_leaves() -> None:
    unit = bundle_of(3)
    assert unit.bundle is not None
    member = unit.bundle.members[1]
    lone = alone(unit, member)
    assert (lone.root, lone.stateful, lone.leaves) == (member.root, member.aggregate, unit.leaves)
    assert lone.bundle is None


def test_without_one_the_others_are_still_together() -> None:
    unit = bundle_of(2)
    assert unit.bundle is not None
    first, second = unit.bundle.members
    rest = without(unit, first)
    assert rest is not None
    assert rest.roots == (second.root,)
    assert rest.key == unit.key
    assert without(rest, second) is None
    assert len(unit.roots) == 2


def test_a_trial_is_told_on_one_line() -> None:
    trial = Trial(60_000, 1_000, 0.1816, 0.42, 0.4166)
    assert trial.text() == (
        "alone 0.182 s, the bundle of 1,000 0.420 s, without it 0.417 s, over 60,000 rows"
    )
    assert "without" not in Trial(1, 1, 0.1, 0.1, None).text()


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, []), (1, [0]), (2, [0, 1]), (3, [0, 1, 2]), (5, [0, 2, 4]), (1_000, [0, 500, 999])],
)
def test_three_members_stand_for_all(count: int, expected: list[int]) -> None:
    assert spread(range(count), 3) == expected


@dataclass
class Stopwatch:
    """Counts what runs would take: a second for each root, and a tenth for being a bundle."""

    now: float = 0.0
    ran: list[int] = field(default_factory=list)

    def run(self, _: Processor, unit: Unit, rows: object) -> None:
        self.ran.append(len(unit.roots))
        self.now += len(unit.roots) + (0.1 if unit.bundle is not None else 0.0)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Stopwatch:
    found = Stopwatch()
    monkeypatch.setattr(trial, "run_to_the_end", found.run)
    return found


def processor(tmp_path: Path) -> Processor:
    return Processor(mock.Mock(spec=Sessions, slots=1), tmp_path)


def test_a_member_is_tried_alone_and_its_bundle_with_and_without_it(
    tmp_path: Path, watch: Stopwatch
) -> None:
    unit = bundle_of(5)
    assert unit.bundle is not None
    held = {name: pa.table({"n": [1, 2, 3]}) for name in unit.inputs}
    found = try_member(processor(tmp_path), unit, unit.bundle.members[0], held, lambda: watch.now)
    assert (found.rows, found.members) == (3, 5)
    assert (found.alone, found.together, found.without) == pytest.approx((1.0, 5.1, 4.1))
    assert watch.ran == [1, 5, 4] * 2


def test_the_share_of_one_is_the_mean_of_three_to_their_bundle(
    tmp_path: Path, watch: Stopwatch
) -> None:
    unit = bundle_of(5)
    held = {name: pa.table({"n": [1]}) for name in unit.inputs}
    share = share_of_one(processor(tmp_path), unit, held, lambda: watch.now)
    assert share == pytest.approx(1 / 5.1)
    assert watch.ran == [5, 1, 1, 1] * 2
