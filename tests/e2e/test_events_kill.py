"""Events over restarts, deaths and workers: each is detected once, wherever it was."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.engine.states.events import detection_run as detecting
from penstock.errors import PenstockError
from penstock.runtime.loop.supervisor import Settings
from penstock.runtime.work.run_limits import RunLimits
from tests.e2e.death import ANY, Reaper, before_it_flows, live, reaping
from tests.e2e.fires import EVENTS, ROOMS, SMOKES, ended, moment, rows, shown
from tests.e2e.support import finish, results, write_json

pytestmark = pytest.mark.spark

MODES = ("recent", "chronicle", "cumulative", "unrestricted")


def script(directory: Path, trains: int) -> str:
    """Return a script over files, with {out} where results go."""
    streams = "".join(
        f"CREATE STREAM IF NOT EXISTS {name} (id INT, ts TIMESTAMP, room STRING, {value} INT) "
        f"TIMESTAMP BY ts SLACK INTERVAL 5 SECONDS FROM files(path => '{directory / name}', "
        f"format => 'json', bounded => true, rows_per_train => {trains});"
        for name, value in (("rooms", "temp"), ("smokes", "level"))
    )
    events = """
    CREATE EVENT IF NOT EXISTS hot AS SELECT id, room, temp MASK temp > 40 FROM rooms;
    CREATE EVENT IF NOT EXISTS smoke AS SELECT id, room, level MASK level > 1 FROM smokes;
    CREATE EVENT IF NOT EXISTS fire AS SELECT h.room, s.id AS s, h.id AS h
      FROM (smoke s SEQ hot h) PARTITION BY room WITHIN INTERVAL 20 SECONDS;
    CREATE EVENT IF NOT EXISTS any_two AS SELECT s.id AS s, h.id AS h
      FROM (smoke s AND hot h) WITHIN INTERVAL 2 SECONDS;
    CREATE EVENT IF NOT EXISTS calm AS SELECT s.room, s.id AS s, e.id AS e
      FROM NOT(hot h)[smoke s, smoke e] PARTITION BY room WITHIN INTERVAL 30 SECONDS;
    """
    queries = "".join(
        f"CREATE QUERY IF NOT EXISTS {event}_{mode} AS SELECT * FROM {event} [CONTEXT {mode}] "
        f"INTO files(path => '{{out}}/{event}_{mode}', format => 'json');"
        for event in ("fire", "any_two", "calm")
        for mode in MODES
    )
    return streams + events + queries


def write(directory: Path, count: int) -> None:
    random_ = random.Random(5)
    for name, value, most in (("rooms", "temp", 80), ("smokes", "level", 4)):
        times = sorted(random_.sample(range(0, 240_000, 100), count))
        given = [
            {
                "id": number,
                "ts": moment(time / 1000 + 10),
                "room": random_.choice("ab"),
                value: random_.randrange(most),
            }
            for number, time in enumerate(times)
        ]
        given.sort(key=lambda row: (row["ts"], random_.random()))
        shuffled = sorted(enumerate(given), key=lambda each: each[0] + random_.randrange(3))
        write_json(directory / name / "rows.json", [row for _, row in shuffled])


def lines_of(out: Path) -> dict[str, Counter[str]]:
    return {
        path.name: Counter(
            line for part in path.glob("part-*") for line in part.read_text().splitlines()
        )
        for path in sorted(out.iterdir())
    }


@pytest.fixture
def reaper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reaper]:
    with reaping(tmp_path, monkeypatch, RunLimits(aggregate_rows=40)) as watching:
        yield watching


def test_deaths_change_no_detection_and_neither_does_the_cut(
    reaper: Reaper, spark: SparkSession, tmp_path: Path
) -> None:
    write(tmp_path, 150)
    reaper.live_until(None)
    with penstock.connect(tmp_path / "calm", spark=spark, settings=reaper.settings) as ps:
        ps.script(script(tmp_path, 1000).format(out=tmp_path / "expected"))
        finish(ps)
    expected = lines_of(tmp_path / "expected")
    assert len(expected) == 3 * len(MODES)
    assert all(expected.values())
    deaths: Sequence[int] = (25, 60, 110, 40)
    over, lives = False, 0
    while not over:
        given = script(tmp_path, 20).format(out=tmp_path / "out")
        with before_it_flows(reaper, tmp_path / "home", given, spark=spark) as ps:
            if lives < len(deaths):
                reaper.live_until(ANY, deaths[lives])
        lives += 1
        over = live(ps, reaper)
    reaper.live_until(None)
    ps.close()
    assert lives > 2
    assert lines_of(tmp_path / "out") == expected


def test_events_spread_over_workers_are_detected_as_in_one_place(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 200)
    spread: list[int] = []
    real = detecting.Detecting._spread

    def counted(self: detecting.Detecting, *given: Any) -> Any:
        answer = real(self, *given)
        spread.append(sum(table.num_rows for table in answer.detections.values()))
        return answer

    monkeypatch.setattr(detecting.Detecting, "_spread", counted)
    outs = {}
    for name, most in (("driver", 10**9), ("workers", 12)):
        monkeypatch.setattr(detecting.Detecting, "pays", lambda _, rows, most=most: rows >= most)
        settings = Settings(limits=RunLimits(aggregate_rows=60))
        with penstock.connect(tmp_path / name, spark=spark, settings=settings) as ps:
            keyed = "(smoke s AND hot h) PARTITION BY room WITHIN"
            text = script(tmp_path, 30).replace("(smoke s AND hot h) WITHIN", keyed)
            ps.script(text.format(out=tmp_path / f"{name}_out"))
            finish(ps)
        outs[name] = lines_of(tmp_path / f"{name}_out")
    assert len(spread) > 2
    assert sum(spread) > 0
    assert outs["workers"] == outs["driver"]


def test_an_event_that_was_subscribed_to_goes_on_after_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(ROOMS + SMOKES + EVENTS)
        with ps.subscribe("fire"):
            pass
        ps.push("smokes", rows("level", (1, "a", 7)))
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.push("rooms", rows("temp", (2, "a", 50)))
        ended(ps)
        assert shown(results(ps, "fire"), "level", "temp") == [(7, 50)]
        with pytest.raises(PenstockError, match="IN_USE"):
            ps.sql("DROP STREAM rooms")


def test_events_run_alone_where_nothing_is_shared(spark: SparkSession, tmp_path: Path) -> None:
    settings = Settings(share=False)
    with penstock.connect(tmp_path / "home", spark=spark, settings=settings) as ps:
        more = "CREATE QUERY q AS SELECT room, temp FROM fire WHERE temp > 45;"
        ps.script(ROOMS + SMOKES + EVENTS + more)
        ps.push("smokes", rows("level", (1, "a", 7)))
        ps.push("rooms", rows("temp", (2, "a", 50), (3, "a", 44)))
        ended(ps)
        assert shown(results(ps, "q"), "room", "temp") == [("a", 50)]
        assert ps.sql("EXPLAIN EVENT fire").message
