"""Who is suspended in a topology that has more to do than it can, and who comes back."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.model.definitions import QueryDefinition
from penstock.model.goals import Goals
from penstock.plan.operators import Operator, key
from penstock.plan.sharing.bundles import GraphPlacement, bundled
from penstock.plan.sharing.units import cut_at_shared
from penstock.qos.load.load import load_of
from penstock.qos.load.network import HERE, Network, NetworkNode
from penstock.qos.load.tuning import (
    BACK_SECONDS,
    BROKEN_LATENCIES,
    LOOK_SECONDS,
    MOST_BROKEN_SECONDS,
)
from penstock.qos.shedding.allocation import Limit
from penstock.runtime.quality.statistics import Statistics
from penstock.runtime.quality.suspension_candidates import GROUPS, candidates_of
from penstock.runtime.topology.connection import connect
from penstock.runtime.work.live_query import LiveQuery
from penstock.runtime.work.promise import Promise
from penstock.schedule.costs.work import Crossing
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import Hall, chain, quality_of

COST = 0.004  # seconds for a tuple of each query, of which two run in the one slot


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def asks(query: LiveQuery, weight: float, seconds: float | None = None) -> None:
    goals = Goals(None if seconds is None else timedelta(seconds=seconds), None, weight)
    query.definition = QueryDefinition(query.name, "", goals)
    query.promise = Promise.of(goals)


class Scene:
    """Two queries that share nothing: one light, one that was promised something."""

    def __init__(self, home: Path, latency: float | None = 1.0) -> None:
        self.hall = Hall(home)
        self.roots = {"light": chain("s", "x"), "heavy": chain("s", "y")}
        for name, root in self.roots.items():
            self.hall.add(name, root)
        asks(self.hall.topology.queries["light"], 1.0)
        asks(self.hall.topology.queries["heavy"], 5.0, latency)
        self.statistics = Statistics()  # what the twins' runs take tells nothing
        self.learn(*self.roots.values())
        self.quality = quality_of(self.hall, self.statistics)
        self.orders: list[tuple[float, list[str], list[str]]] = []

    def learn(self, *roots: Operator) -> None:
        """Let units be known to cost the same for each tuple."""
        for root in roots:
            for second in range(6):
                rows = 4 * 5**second  # small runs, too, cost what their tuples do
                now = self.hall.clock.now()
                self.statistics.ran(key(root), rows, rows, rows * COST, now)

    def go_on(
        self, seconds: float, rate: int, *, works: bool = True, every: float = LOOK_SECONDS
    ) -> None:
        """Let tuples come, and do what is ordered; who does not work lets them grow old."""
        for _ in range(int(seconds / every)):
            first = len(self.hall.pushed["s"])
            self.hall.push("s", *range(first, first + int(rate * every)))
            self.hall.take_in()
            self.hall.clock.sleep(every)
            self.quality._next_look = 0.0
            self.quality.look(lambda: self.hall.topology.graph, self.hall.clock.now())
            self.obey()
            if works:
                self.hall.turn()
                self.hall.deliver()

    def obey(self) -> None:
        orders, topology = self.quality.suspending.orders, self.hall.topology
        for name in orders.suspend:
            topology.suspended[name] = topology.queries.pop(name)
            topology.gone.add(topology.suspended[name].reader)
        for name in orders.recall:
            topology.queries[name] = topology.suspended.pop(name)
            topology.queries[name].runs = 0
        if orders:
            self.hall.reconnect()
            self.hall.checkpoint()
            now = self.hall.clock.now()
            self.orders.append((now, sorted(orders.suspend), sorted(orders.recall)))
        self.quality.suspending.done()


def test_nobody_goes_while_promises_are_kept(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "home", latency=5.0)
    scene.go_on(12, 400)  # a load of 3.2 by the figures, but nothing waits for long
    assert scene.orders == []


def test_the_lighter_goes_when_what_waits_breaks_a_promise_and_comes_back(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "home")
    scene.go_on(3, 100)
    scene.go_on(MOST_BROKEN_SECONDS + 2, 200, works=False)
    ((at, gone, back),) = scene.orders
    assert (gone, back) == (["light"], [])
    why = scene.quality.keeper.suspended.queries["light"].text()
    assert "of 0.95 that there is room for" in why
    scene.go_on(BACK_SECONDS + 25, 40)
    (again, _, came) = scene.orders[-1]
    assert came == ["light"]
    assert again - at >= BACK_SECONDS
    assert not scene.quality.keeper.suspended.queries


def test_under_load_rare_looks_put_off_who_goes_and_who_comes_back_by_one_look(
    tmp_path: Path,
) -> None:
    scene, rare = Scene(tmp_path / "home"), 7.0
    scene.go_on(3, 100)
    flood = scene.hall.clock.now()
    scene.go_on(4 * rare, 200, works=False, every=rare)
    (at, gone, _) = scene.orders[0]
    patience = BROKEN_LATENCIES * 1.0
    assert gone == ["light"]
    assert at - flood <= rare + patience + rare  # the first look sees that a promise is broken
    scene.go_on(LOOK_SECONDS, 0)  # what waited is done
    calm = scene.hall.clock.now()
    scene.go_on(6 * rare, 10, every=rare)
    (again, _, came) = scene.orders[-1]
    assert came == ["light"]
    assert again - calm <= rare + BACK_SECONDS + rare


def test_units_that_only_those_need_who_are_to_go_start_nothing_more(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "home")
    topology, light, heavy = scene.hall.topology, *map(key, scene.roots.values())
    topology.pause({"light"})
    assert topology.paused == {light}
    scene.hall.push("s", 1, 2)
    for _ in range(3):
        scene.hall.step()
    assert (scene.hall.delivered("light"), scene.hall.delivered("heavy")) == ([], [1, 2])
    topology.pause({"light", "heavy"})
    assert topology.paused == {light, heavy}
    topology.pause(())
    scene.hall.drain()
    assert scene.hall.delivered("light") == [1, 2]


def test_a_unit_that_others_need_goes_on_for_them(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    for name, labels in (("below", "x"), ("light", "xy"), ("heavy", "xz")):
        hall.add(name, chain("s", labels))
    hall.topology.pause({"below", "light"})
    assert hall.topology.paused == {key(chain("s", "xy"))}


def test_who_would_be_too_much_again_does_not_come_back(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "home")
    scene.go_on(3, 100)
    scene.go_on(MOST_BROKEN_SECONDS + 5, 200, works=False)
    scene.go_on(30, 200)  # the heavy one alone needs 0.8, both 1.6
    assert [gone for _, gone, _ in scene.orders] == [["light"]]


def test_where_nobody_was_promised_anything_all_wait_alike(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "home", latency=None)
    scene.go_on(3, 100)
    scene.go_on(8, 400, works=False)
    assert scene.orders == []


def test_units_that_hardly_ran_are_no_reason(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "home")
    name = key(scene.roots["heavy"])
    del scene.statistics.records[name]
    scene.statistics.ran(name, 10, 10, 5.0, scene.hall.clock.now())  # Spark compiles
    scene.go_on(8, 200, works=False)
    assert scene.orders == []


def test_where_they_wait_and_there_is_little_to_do_it_is_not_the_load(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "home")
    scene.go_on(3, 10)
    scene.go_on(8, 10, works=False)
    assert scene.orders == []


def test_who_is_dropped_while_away_is_forgotten(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "home")
    scene.go_on(3, 100)
    scene.go_on(MOST_BROKEN_SECONDS + 5, 200, works=False)
    del scene.hall.topology.suspended["light"]
    scene.go_on(1, 100)
    assert not scene.quality.keeper.suspended.queries


def test_who_was_away_before_a_restart_comes_back_when_there_was_room(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "home")
    scene.hall.topology.suspended["light"] = scene.hall.topology.queries.pop("light")
    scene.hall.reconnect()
    scene.go_on(BACK_SECONDS + 2, 40)
    assert [came for _, _, came in scene.orders] == [["light"]]


def test_all_come_back_at_once_when_nobody_is_left_for_whom_they_went(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "home")
    scene.go_on(3, 100)
    scene.go_on(MOST_BROKEN_SECONDS + 5, 200, works=False)
    scene.hall.drop("heavy")
    scene.go_on(1, 200)
    assert scene.orders[-1][2] == ["light"]


def test_a_bundle_is_told_apart_by_weight_and_its_work_stays_the_same(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    for number in range(40):
        hall.add(f"q{number:02}", chain("s", f"x{'abcdefghij'[number % 10]}{number // 10}"))
        asks(hall.topology.queries[f"q{number:02}"], 40.0 - number)
    graph = bundled(hall.topology.graph, GraphPlacement((), {}))
    connect(hall.topology, cut_at_shared(graph, ()))
    ((name, live),) = [(n, u) for n, u in hall.topology.units.items() if u.unit.bundle is not None]
    (leaf,) = live.unit.inputs
    network = Network(
        {name: NetworkNode({leaf: Crossing(0.01, 1.0)})}, {leaf: 80.0}, {"bundle": name}
    )
    candidates = candidates_of(hall.topology, network, {"bundle": Limit(0.2, 820.0)})
    assert len(candidates.queries) == GROUPS
    assert sorted(q for each in candidates.queries.values() for q in each) == sorted(
        hall.topology.queries
    )
    assert load_of(candidates.network)[HERE] == pytest.approx(load_of(network)[HERE])
    lightest = min(candidates.queries, key=lambda each: candidates.limits[each].weight)
    assert set(candidates.queries[lightest]) == {"q37", "q38", "q39"}
    without = candidates.network.without(frozenset([lightest]))
    assert load_of(without)[HERE] == pytest.approx(0.8 * 37 / 40)
    assert candidates.limits[lightest] == Limit(0.2, 6.0)


def test_what_waits_behind_a_bundle_is_counted_by_the_bundle_that_wrote_it(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    below, above = chain("s", "x"), chain("s", "xy")
    hall.add("a", below)
    hall.add("b", above)
    hall.push("s", 1, 2, 3)
    hall.take_in()
    hall.topology.units[key(above)].cause = "held"  # so that what comes to it waits
    hall.turn()
    bundle = SimpleNamespace(unit=SimpleNamespace(key="bundle"))
    hall.topology.writers[key(below)] = bundle  # type: ignore[assignment]
    queued = quality_of(hall, Statistics())._queued()
    assert queued["bundle", key(above)] == 3
    assert (key(below), key(above)) not in queued
