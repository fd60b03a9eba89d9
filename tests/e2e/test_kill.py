"""After kill -9 at any moment the files hold every row once, the same as without the kill."""

import random
import re
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.clock import HandClock
from penstock.runtime.durable.result_row import START, Position
from penstock.runtime.work.run_limits import RunLimits
from tests.e2e import scenario
from tests.e2e.children import Child
from tests.e2e.death import (
    ANY,
    Killed,
    Reaper,
    before_it_flows,
    bury,
    live,
    reaping,
)
from tests.e2e.support import figures, finish, results, rows_of, until
from tests.examples import IS_WHOLE, NIGHTLY

pytestmark = pytest.mark.spark

# Where the system dies, in turn, and the how manieth time it gets there in that life.
EVERY_POINT = (
    ("journal INSERT INTO trains before", 2),
    ("journal INSERT INTO trains after", 2),
    ("journal INSERT INTO runs unit before", 3),
    ("journal INSERT INTO runs unit after", 6),
    ("journal INSERT INTO runs query before", 2),
    ("journal INSERT INTO runs query after", 2),
    ("open out before", 1),
    ("rename out before", 2),
    ("open results before", 1),  # after the sink took it, before anybody knows
    ("rename results before", 3),
    ("journal INSERT INTO deliveries before", 4),
    ("journal INSERT INTO deliveries after", 2),
    ("rename state before", 4),
    ("journal BEGIN before", 1),  # the state files are written, the manifest is not
    ("journal BEGIN after", 2),
    ("journal INSERT INTO checkpoints before", 1),
    ("journal INSERT INTO checkpoints after", 2),
    ("journal DELETE FROM checkpoints after", 1),
    ("journal INSERT INTO trimmed after", 2),
    ("journal DELETE FROM trains after", 1),
    ("journal DELETE FROM runs after", 3),
    ("journal COMMIT before", 1),
    ("journal COMMIT after", 2),  # the new checkpoint holds, the old one's files are still there
    ("remove state before", 3),
    *((ANY, random.Random(place).randrange(5, 90)) for place in range(5)),
    ("catalog set_state before", 1),
    ("catalog set_state after", 2),
)


def one_of_each(points: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return of the points before and after one thing now the first, now the second."""
    found: dict[str, list[tuple[str, int]]] = {}
    for point, count in points:
        found.setdefault(point.rpartition(" ")[0], []).append((point, count))
    return [same[place % len(same)] for place, same in enumerate(found.values())]


POINTS = EVERY_POINT if IS_WHOLE else one_of_each(EVERY_POINT)


@pytest.fixture(scope="module")
def undisturbed(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str, dict[str, bytes | pa.Table]]:
    """Run the scenario once in peace: its data, its script, and what it gives."""
    place = tmp_path_factory.mktemp("undisturbed")
    script = scenario.prepare(place, scenario.make_rows(400), rows_per_train=20)
    with penstock.connect(place / "home", spark=spark) as ps:
        ps.script(script.format(out=place / "out"))
        finish(ps)
    given = scenario.contents(place / "out")
    assert all(len(content) for content in given.values())
    return place, script, given


@pytest.fixture
def reaper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reaper]:
    small = RunLimits(flow_rows=50, aggregate_rows=50)  # so that there are many runs to die in
    with reaping(tmp_path, monkeypatch, small) as watching:
        yield watching


class Reader:
    """A client that remembers how far it has read, over the deaths of what it reads from."""

    def __init__(self, query: str) -> None:
        self.query = query
        self.rows: list[dict[str, Any]] = []
        self._position: Position = START

    def begin(self, ps: Connection) -> None:
        """Resume after the last row that was seen."""
        self._subscription = ps.subscribe(self.query, after=self._position)

    def take(self) -> None:
        """See what has come."""
        while (row := self._subscription.next(0)) is not None:
            assert row.position > self._position
            self._position = row.position
            self.rows.append(row.as_dict())


@pytest.mark.timeout(1800)
def test_a_system_that_dies_at_any_point_comes_back_to_the_same_files(
    undisturbed: tuple[Path, str, dict[str, bytes | pa.Table]],
    reaper: Reaper,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    _, script, expected = undisturbed
    waiting, missed, round_ = list(POINTS), [], 0
    while waiting:
        round_ += 1
        out, home = tmp_path / f"out-{round_}", tmp_path / f"home-{round_}"
        readers = [Reader("tumbling"), Reader("kept")]
        over = False
        while not over:
            point = waiting.pop(0) if waiting else (None, 1)
            with before_it_flows(reaper, home, script.format(out=out), spark=spark) as ps:
                for reader in readers:
                    reader.begin(ps)
                reaper.live_until(*point)
            over = live(ps, reaper)
            for reader in readers:
                reader.take()
            if over and point[0]:
                missed.append(point)
        reaper.live_until(None)
        with ps:
            for reader in readers:
                assert reader.rows == results(ps, reader.query).to_pylist(), reader.query
        scenario.same(scenario.contents(out), expected)
    assert len(missed) <= len(POINTS) // 4, missed  # each round may end before its last point


WRITTEN = (
    ("rename spill before", 2),  # one task's rows are in their place, the other's are not
    ("journal INSERT INTO runs unit after", 3),
    ("journal INSERT INTO checkpoints after", 1),
    ("remove spill before", 2),
)


def by_id(contents: dict[str, bytes | pa.Table]) -> pa.Table:
    placed = contents["placed"]
    assert isinstance(placed, pa.Table)
    return placed.sort_by([("id", "ascending"), ("label", "ascending")])


def test_trains_that_tasks_write_are_after_deaths_what_the_driver_would_have_made(
    undisturbed: tuple[Path, str, dict[str, bytes | pa.Table]],
    monkeypatch: pytest.MonkeyPatch,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    _, script, expected = undisturbed
    large = RunLimits(flow_rows=200, aggregate_rows=200, large_rows=0)
    died = 0
    with reaping(tmp_path, monkeypatch, large) as reaper:
        for point in (*WRITTEN, (None, 1)):
            given = script.format(out=tmp_path / "out")
            with before_it_flows(reaper, tmp_path / "home", given, spark=spark) as ps:
                reaper.live_until(*point)
            if live(ps, reaper):
                reaper.live_until(None)
                ps.close()
                break
            died += 1
    assert died >= 2  # it may end before its last point
    # Spark gives the two places of a key the other way round than Arrow does.
    found = scenario.contents(tmp_path / "out")
    scenario.same({**found, "placed": by_id(found)}, {**expected, "placed": by_id(expected)})


def test_rows_that_were_acknowledged_are_delivered_once_whatever_died_after(
    reaper: Reaper, spark: SparkSession, tmp_path: Path
) -> None:
    random_ = random.Random(5)
    script = f"""
        CREATE STREAM IF NOT EXISTS p (id INT, ts TIMESTAMP) TIMESTAMP BY ts FROM push();
        CREATE QUERY IF NOT EXISTS ids AS SELECT id FROM p
          INTO files(path => '{tmp_path / "out"}', format => 'csv', header => false);
        CREATE QUERY IF NOT EXISTS counts AS
          SELECT window_start, count(*) AS c, sum(id) AS ids FROM p [RANGE 10 SECONDS]"""
    acknowledged = 0
    for _ in range(5):
        reaper.live_until(None)
        ps = penstock.connect(tmp_path / "home", spark=spark, settings=reaper.settings)
        ps.script(script)
        reaper.live_until(ANY, random_.randrange(5, 120))
        while not reaper.dead:
            count = random_.randrange(1, 20)
            ps.push("p", [pushed_row(acknowledged + at) for at in range(count)])
            acknowledged += count
            time.sleep(0.02)
        bury(ps, reaper)
    reaper.live_until(None)
    with penstock.connect(tmp_path / "home", spark=spark, settings=reaper.settings) as ps:
        ps.script(script)
        until(ps, lambda: figures(ps, "counts")["rows_in"] == acknowledged)
        ps.push("p", [pushed_row(acknowledged + at) for at in range(7)])  # one is late by now
        acknowledged += 7
        ps.end("p")
        finish(ps)
        parts = sorted((tmp_path / "out").glob("part-*"))
        found = [int(line) for part in parts for line in part.read_text().split()]
        assert found == [*range(acknowledged)]
        # Rows are far out of order and there is no slack: each is in its window, or late.
        late = [row["id"] for row in rows_of(ps.sql("SELECT id FROM counts.late").table)]
        answers = results(ps, "counts").to_pylist()
        assert len(answers) == len({row["window_start"] for row in answers})
        assert sum(row["c"] for row in answers) + len(late) == acknowledged
        assert sum(row["ids"] for row in answers) + sum(late) == sum(range(acknowledged))
        assert late


def pushed_row(number: int) -> dict[str, Any]:
    behind = 25 if number % 7 == 0 else 0
    return {"id": number, "ts": scenario.BEGIN + timedelta(seconds=number - behind)}


@pytest.mark.parametrize("count", [pytest.param(2, marks=NIGHTLY), 6])  # before, among queries
def test_a_script_that_died_half_way_can_be_run_again(
    count: int,
    undisturbed: tuple[Path, str, dict[str, bytes | pa.Table]],
    reaper: Reaper,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    _, script, expected = undisturbed
    ps = penstock.connect(tmp_path / "home", spark=spark, settings=reaper.settings)
    reaper.live_until("catalog put after", count)
    with pytest.raises(Killed):
        ps.script(script.format(out=tmp_path / "out"))
    bury(ps, reaper)
    reaper.live_until(None)
    with penstock.connect(tmp_path / "home", spark=spark, settings=reaper.settings) as ps:
        ps.script(script.format(out=tmp_path / "out"))
        finish(ps)
    scenario.same(scenario.contents(tmp_path / "out"), expected)


# -- real processes ----------------------------------------------------------------------


@pytest.mark.timeout(900)
def test_a_process_that_is_killed_at_random_ends_with_the_files_of_a_peaceful_run(
    undisturbed: tuple[Path, str, dict[str, bytes | pa.Table]], spark: SparkSession, tmp_path: Path
) -> None:
    _, given, expected = undisturbed
    script = (
        f"{given.format(out=tmp_path / 'out')};"
        "CREATE STREAM IF NOT EXISTS p (id INT) FROM push();"
        "CREATE QUERY IF NOT EXISTS ids AS SELECT id FROM p "
        f"INTO files(path => '{tmp_path / 'ids'}', format => 'csv', header => false)"
    )
    told: dict[str, Any] = {"home": str(tmp_path / "home"), "script": script}
    random_ = random.Random(11)
    acknowledged: list[int] = []
    words = ("acknowledged", "open")  # one dies at work, somewhere; the next while it comes back
    for life, word in enumerate(words):
        told |= {"push_from": life * 1000, "push_to": life * 1000 + 1000, "all_large": not life}
        child = Child(tmp_path, told)
        try:
            heard = child.wait_for(word)
            time.sleep(random_.uniform(0, 1.5))
        finally:
            child.kill()
        assert heard, child.errors()
        acknowledged += [int(n) for n in re.findall(r"acknowledged (\d+)", "\n".join(child.said))]
    assert acknowledged
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(script)
        ps.end("p")
        finish(ps)
    scenario.same(scenario.contents(tmp_path / "out"), expected)
    parts = sorted((tmp_path / "ids").glob("part-*"))
    ids = [int(line) for part in parts for line in part.read_text().split()]
    assert ids == sorted(set(ids))
    # What was acknowledged is there; a push that died before its word, whole or not at all.
    pushed = {number - number % 10 for number in ids}
    assert set(acknowledged) <= pushed
    assert len(ids) == 10 * len(pushed)
    assert len(pushed - set(acknowledged)) <= len(words)


@pytest.mark.parametrize("point", ["journal INSERT INTO runs query after", "open out before"])
def test_what_a_query_took_before_its_time_was_up_is_delivered_after_a_death(
    point: str, reaper: Reaper, spark: SparkSession, tmp_path: Path
) -> None:
    clock = HandClock(1000.0)
    ps = penstock.connect(tmp_path / "home", spark=spark, clock=clock)
    ps.script(
        "CREATE STREAM p (id INT) FROM push(); CREATE QUERY q AS SELECT id FROM p "
        f"STOP AFTER INTERVAL 10 SECONDS INTO files(path => '{tmp_path / 'out'}', "
        "format => 'csv', header => false)"
    )
    reaper.live_until(point)
    ps.push("p", [{"id": 1}, {"id": 2}])
    until(ps, lambda: reaper.dead)
    bury(ps, reaper)
    clock.sleep(60)  # dead for a minute: the time is up
    reaper.live_until(None)
    with penstock.connect(tmp_path / "home", spark=spark, clock=clock) as ps:
        ps.push("p", [{"id": 3}])
        until(ps, lambda: figures(ps, "q")["state"] == "FINISHED")
    parts = sorted((tmp_path / "out").glob("part-*"))
    assert [part.read_text() for part in parts] == ["1\n2\n"]
