"""Who goes together takes the very same tuples, and those that are next for each."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.states import counting_state
from penstock.engine.states.tuples.gate import gate_state
from penstock.engine.trains.buffers import Train
from penstock.engine.trains.rows import in_memory
from penstock.model.trains import TrainInfo
from penstock.plan.operators import Bundle, Gate, Operator, key
from penstock.plan.operators.bundles.member import Member, member_of
from penstock.runtime.loop.dispatch.shared_scans import APART, SharedScan, SharedScans
from penstock.runtime.quality.run_lengths import KNOWN_RUNS
from penstock.runtime.quality.statistics import Statistics
from penstock.runtime.work.live_unit import READER, LiveUnit
from penstock.runtime.work.reading import Reading
from tests.unit.plan.bundles.queries import SCAN, aggregate

GATES = (Gate(SCAN, 0.1), Gate(SCAN, 0.2))
STREAM = key(SCAN)
Taken = tuple[int, bool]  # how many trains a gate made one of, and whether it let all through


def member(below: Operator) -> Member:
    found = member_of(aggregate(below))
    assert found is not None
    return found


def train(number: int, rows: int = 1) -> Train:
    table = pa.table({"x": [0] * rows})
    return Train(TrainInfo(number, rows, 8, 0.0, None, None, 0), in_memory(table))


def unit(root: Operator, **facts: Any) -> LiveUnit:
    """Return a unit of which only its places in the topology are real."""
    known = {"inputs": (key(root.inputs[0]),), "key": key(root), "root": root}
    live = LiveUnit(
        cast("Any", SimpleNamespace(**known)), cast("Any", None), counting_state(root), **facts
    )
    bundle = root if isinstance(root, Bundle) else None
    live.unit.bundle = bundle  # type: ignore[misc]
    live.reading = Reading({known["inputs"][0]: 0})
    return live


@dataclass
class Buffer:
    """Trains, and how far each reader has come."""

    trains: Sequence[Train]
    read: dict[str, int] = field(default_factory=dict)

    def readers(self) -> dict[str, int]:
        return self.read

    def waiting(self, reader: str) -> list[Train]:
        return [each for each in self.trains if each.info.number > self.read[reader]]


@dataclass
class Scene:
    """A stream of some trains, a bundle over it, and one behind each of two gates."""

    trains: int
    taken: Sequence[Sequence[Taken]]
    read: Sequence[int]
    busy: frozenset[str] = frozenset()
    runs: int = KNOWN_RUNS
    sizes: tuple[int, ...] = (1, 2, 4, 8)

    def __post_init__(self) -> None:
        bundles = [Bundle(m.base, m.aggregate.time, (m,)) for m in map(member, (SCAN, *GATES))]
        self.bundles = [unit(each) for each in bundles]
        self.gates = [unit(each) for each in GATES]
        buffers = {STREAM: Buffer([train(n + 1) for n in range(self.trains)])}
        for gate, taken in zip(self.gates, self.taken, strict=True):
            first = 1
            for number, (many, is_whole) in enumerate(taken, start=1):
                if is_whole:
                    gate_state(gate.state).whole[number] = (first, first + many - 1)
                first += many
            made = [train(number + 1) for number in range(len(taken))]
            buffers[gate.unit.key] = Buffer(made)
            buffers[STREAM].read[gate.reader] = first - 1
        for live, read in zip(self.bundles, self.read, strict=True):
            buffers[live.unit.inputs[0]].read[live.reader] = read
        self.buffers = buffers
        units = {live.unit.key: live for live in (*self.bundles, *self.gates)}
        topology = SimpleNamespace(
            buffers=buffers, units=units, writers={each.unit.key: each for each in self.gates}
        )
        pool = SimpleNamespace(is_busy=lambda name: name in self.busy)
        statistics = Statistics()
        for live, seconds in zip(self.bundles, (1.0, 3.0, 4.0), strict=True):
            statistics.ran(live.unit.key, 1, 0, 60.0, 0.0)  # the first tells nothing
            for rows in self.sizes * self.runs:
                statistics.ran(live.unit.key, rows, 0, seconds, 0.0)
            statistics.ran(live.unit.key, 1, 0, 60.0, 0.0, alone=False)  # nor do these
        self.shared_scans = SharedScans(cast("Any", topology), cast("Any", pool), statistics)

    def of(self, lead: int) -> SharedScan | None:
        """Return the shared scan of a bundle; the first run each goes alone."""
        return next((found for _ in range(2) if (found := self.asked(lead)) is not None), None)

    def asked(self, lead: int) -> SharedScan | None:
        live = self.bundles[lead]
        name = live.unit.inputs[0]
        return self.shared_scans.of(live, {name: self.buffers[name].waiting(live.reader)})

    def tuples(self, shared_scan: SharedScan) -> list[list[int]]:
        """Return the stream's trains that each member of a shared scan takes."""
        found = []
        for each in shared_scan.going:
            ((name, trains),) = each.group.items()
            numbers = [train.info.number for train in trains]
            if name != STREAM:
                gate = next(gate for gate in self.gates if gate.unit.key == name)
                ranges = [gate_state(gate.state).whole[number] for number in numbers]
                numbers = [n for first, last in ranges for n in range(first, last + 1)]
            found.append(numbers)
        return found


def going(shared_scan: SharedScan | None) -> set[str]:
    return {each.live.unit.key for each in shared_scan.going} if shared_scan is not None else set()


def within(taken: list[Taken], trains: int) -> list[Taken]:
    """Return what a gate can have taken of so many trains."""
    sums = accumulate(many for many, _ in taken)
    return taken[: sum(each <= trains for each in sums)]


ONE = ([(1, True)], [(1, True)])


@given(
    st.integers(0, 6),
    st.lists(
        st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=3), min_size=2, max_size=2
    ),
    st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(0, 3)),
    st.integers(0, 2),
)
def test_all_take_the_same_tuples_and_what_is_next_for_them(
    trains: int, taken: list[list[Taken]], read: tuple[int, int, int], lead: int
) -> None:
    scene = Scene(trains, [within(each, trains) for each in taken], read)
    shared_scan = scene.of(lead)
    if shared_scan is None:
        return
    first, *others = scene.tuples(shared_scan)
    assert first
    assert all(each == first for each in others)
    assert scene.bundles[lead].unit.key in going(shared_scan)
    for each in shared_scan.going:
        ((name, some),) = each.group.items()
        waiting = scene.buffers[name].waiting(each.live.reader)
        assert waiting[: len(some)] == some
    assert sum(shared_scan.shares) == 1


def test_bundles_beside_and_behind_open_gates_go_together_whoever_is_first() -> None:
    for lead in range(3):
        scene = Scene(1, ONE, (0, 0, 0))
        shared_scan = scene.of(lead)
        assert going(shared_scan) == {live.unit.key for live in scene.bundles}
        assert shared_scan is not None
        assert shared_scan.going[0].live is scene.bundles[0]  # its tuples have no share beside them
        named = [each.live.unit.key for each in shared_scan.going]
        shares = dict(zip(named, shared_scan.shares, strict=True))
        assert [shares[live.unit.key] for live in scene.bundles] == [1 / 8, 3 / 8, 4 / 8]


def test_who_is_ahead_leaves_the_rest_for_later() -> None:
    scene = Scene(3, ONE, (0, 0, 0))
    shared_scan = scene.of(0)
    assert shared_scan is not None
    assert scene.tuples(shared_scan) == [[1], [1], [1]]


def test_behind_a_gate_that_dropped_something_one_goes_alone() -> None:
    scene = Scene(1, ([(1, False)], [(1, True)]), (0, 0, 0))
    assert scene.of(1) is None
    assert going(scene.of(0)) == {scene.bundles[0].unit.key, scene.bundles[2].unit.key}
    assert not scene.shared_scans.is_whole(scene.bundles[1], {scene.gates[0].unit.key: [train(1)]})
    assert scene.shared_scans.is_whole(scene.bundles[2], {scene.gates[1].unit.key: [train(1)]})


def test_nobody_goes_along_who_is_at_work_or_of_whom_little_is_known() -> None:
    names = [f"{READER}{live.unit.key}" for live in Scene(1, ONE, (0, 0, 0)).bundles]
    busy = Scene(1, ONE, (0, 0, 0), busy=frozenset(names[1:2]))
    assert len(going(busy.of(0))) == 2
    assert Scene(1, ONE, (0, 0, 0), runs=KNOWN_RUNS - 1).of(0) is None
    assert Scene(1, ONE, (0, 0, 0), sizes=(2, 4)).of(0) is None


def test_at_first_and_then_now_and_then_each_goes_alone() -> None:
    scene = Scene(1, ONE, (0, 0, 0))
    alone = [run for run in range(1, 3 * APART + 1) if scene.asked(0) is None]
    assert alone == [1, 4, 16, APART, 2 * APART, 3 * APART]
