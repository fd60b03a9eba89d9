"""Queries that come while others run: no death at any point loses or repeats a row of anybody."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.runtime.home_check.examine import examine, held
from penstock.runtime.loop.supervisor import Settings
from tests.e2e import scenario
from tests.e2e.death import ANY, Killed, Reaper, bury, reaping
from tests.e2e.support import finish, results
from tests.examples import IS_WHOLE

pytestmark = pytest.mark.spark

MOST = 12  # queries in a life: it ends before
SIZE = 4  # seconds of a window, and tuples in it: there is one a second
SCRIPT = """
    CREATE STREAM IF NOT EXISTS p (id INT, ts TIMESTAMP) TIMESTAMP BY ts
      SLACK INTERVAL 0 SECONDS FROM push();
    CREATE QUERY IF NOT EXISTS ids AS SELECT id FROM p WHERE id >= 0;
    CREATE QUERY IF NOT EXISTS counts AS
      SELECT window_start, count(*) AS c, sum(id) AS ids FROM p [RANGE 4 SECONDS];
    CREATE QUERY IF NOT EXISTS above AS SELECT window_start, c FROM counts WHERE c > 0
"""
# Members of the bundle, a query over a query, a unit of its own, a filter, an equal plan.
ADDED = (
    "SELECT window_start, count(*) AS c, sum(id) AS ids FROM p [RANGE 4 SECONDS] WHERE id > -{n}",
    "SELECT window_start, c FROM counts WHERE c > -{n}",
    "SELECT window_start, count(DISTINCT id) AS c, sum(id) AS ids FROM p [RANGE 4 SECONDS]",
    "SELECT id FROM p WHERE id > -{n}",
    "SELECT window_start, count(*) AS c, sum(id) AS ids FROM p [RANGE 4 SECONDS]",
)


@pytest.fixture
def reaper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reaper]:
    with reaping(tmp_path, monkeypatch) as watching:
        # Whole checkpoints are rare: most of what comes back was written at a change, or before.
        watching.settings = Settings(checkpoint_seconds=2.0)
        yield watching


class World:
    """A home that dies and comes back, what was pushed, and when each query was acknowledged."""

    def __init__(self, home: Path, spark: SparkSession, reaper: Reaper) -> None:
        self.home, self.spark, self.reaper = home, spark, reaper
        self.pushed = 0
        self.queries: dict[str, str] = {}
        self.acknowledged: dict[str, int] = {}

    def open(self) -> Connection:
        self.reaper.live_until(None)
        ps = penstock.connect(self.home, spark=self.spark, settings=self.reaper.settings)
        ps.script(SCRIPT)
        for name in [name for name in self.queries if name not in self.acknowledged]:
            self.create(ps, name)
        return ps

    def push(self, ps: Connection, count: int) -> None:
        ps.push("p", [row(self.pushed + at) for at in range(count)])
        self.pushed += count

    def create(self, ps: Connection, name: str) -> None:
        ps.sql(f"CREATE QUERY IF NOT EXISTS {name} AS {self.queries[name]}")
        self.acknowledged[name] = self.pushed

    def add(self, ps: Connection, form: str) -> None:
        name = f"q{len(self.queries)}"
        self.queries[name] = form.format(n=len(self.queries) + 1)
        self.create(ps, name)


def row(number: int) -> dict[str, Any]:
    return {"id": number, "ts": scenario.BEGIN + timedelta(seconds=number)}


def live_and_die(
    world: World, ps: Connection, chance: random.Random, point: tuple[str, int]
) -> None:
    """Push and create in turns until the system dies."""
    world.reaper.live_until(*point)
    try:
        for _ in range(MOST):
            world.push(ps, chance.randrange(1, 9))
            world.add(ps, chance.choice(ADDED))
        raise AssertionError(f"{point} is never passed")
    except (Killed, penstock.PenstockError):
        assert world.reaper.dead
    bury(ps, world.reaper)
    world.reaper.live_until(None)


def see_that_all_is_there(world: World, ps: Connection) -> None:
    """Compare what every query has given with what was pushed."""
    last = world.pushed - 1
    for name in ("ids", "counts", "above", *world.queries):
        rows = results(ps, name).to_pylist()
        begun = world.acknowledged.get(name, 0)
        if "id" in rows[0]:
            found = [each["id"] for each in rows]
            assert found == [*range(found[0], last + 1)], name
            assert found[0] <= begun, name
            continue
        starts = [number_of(each["window_start"]) for each in rows]
        assert starts == [*range(starts[0], last + 1, SIZE)], name
        assert starts[0] < begun + SIZE, name
        for first, each in zip(starts, rows, strict=True):
            inside = range(first, min(first + SIZE, last + 1))
            assert (each["c"], each.get("ids", sum(inside))) == (len(inside), sum(inside)), name


def number_of(time: datetime) -> int:
    return round((time - scenario.BEGIN).total_seconds())


# Where the system dies: what a change does to the disk, in its order, and anywhere.
POINTS = (
    ("catalog put before", 2),
    ("catalog put after", 3),
    ("catalog set_state after", 4),
    ("rename state before", 2),
    ("journal BEGIN before", 6),
    ("journal INSERT INTO checkpoints before", 3),
    ("journal INSERT INTO checkpoints after", 5),
    ("journal DELETE FROM checkpoints after", 4),
    ("remove state before", 2),
    (ANY, 77),
    (ANY, 143),
)


@pytest.mark.timeout(1800)
def test_queries_that_come_while_others_run_survive_deaths_at_every_point_of_it(
    reaper: Reaper, spark: SparkSession, tmp_path: Path
) -> None:
    chance, world = random.Random(46), World(tmp_path / "home", spark, reaper)
    points = POINTS if IS_WHOLE else POINTS[::3]
    for point in points:
        live_and_die(world, world.open(), chance, point)
        with held(world.home) as home:
            assert [each.wrong for each in examine(home) if each.wrong] == []
    with world.open() as ps:
        world.push(ps, 3 * SIZE - world.pushed % SIZE)
        ps.end("p")
        finish(ps)
        see_that_all_is_there(world, ps)
    assert len(world.queries) > len(points)
