"""A process that is killed while rules fire: what they do is done once, what they tell is told."""

import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.model.goals import Goals
from tests.e2e.children import Child
from tests.e2e.support import finish, results, rows_of, until, write_json
from tests.e2e.test_rules import rule
from tests.e2e.test_rules_outside import Server

pytestmark = pytest.mark.spark

ROWS = 600
ODD = range(1, ROWS, 2)
SCRIPT = """
CREATE STREAM IF NOT EXISTS house (ts TIMESTAMP, n INT)
  FROM files(path => '{data}', format => 'json', bounded => true, rows_per_train => 20)
  TIMESTAMP BY ts;
CREATE STREAM IF NOT EXISTS alarms (ts TIMESTAMP, who STRING, n INT) FROM push() TIMESTAMP BY ts;
CREATE QUERY IF NOT EXISTS odd AS SELECT ts, n FROM house WHERE n % 2 = 1;
CREATE QUERY IF NOT EXISTS back AS SELECT n FROM house WHERE n % 7 = 0;
CREATE STREAM IF NOT EXISTS others (n INT) FROM push();
CREATE QUERY IF NOT EXISTS away AS SELECT n FROM others WHERE n % 11 = 0;
CREATE RULE IF NOT EXISTS now COUPLING immediate ON odd WHEN n > 10
  DO INSERT INTO alarms SELECT 'now' AS who, n, RAISE alarms('again', n + 1);
CREATE RULE IF NOT EXISTS later ON odd WHEN n % 3 = 0
  DO INSERT INTO alarms SELECT 'later' AS who, n;
CREATE RULE IF NOT EXISTS early COUPLING immediate ON odd WHEN n = 51
  DO STOP QUERY back, START QUERY away,
     ALTER QUERY odd SET (max_latency => INTERVAL 1 HOUR, weight => 2);
CREATE RULE IF NOT EXISTS soon COUPLING immediate ON odd WHEN n = 401
  DO START QUERY back, STOP QUERY away, ALTER QUERY odd SET (weight => 3);
CREATE RULE IF NOT EXISTS hook ON odd WHEN n % 5 = 0 DO webhook(url => '{url}');
CREATE RULE IF NOT EXISTS program ON odd WHEN n % 25 = 0
  DO command(program => '{program}', args => array(n));
"""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    made.seconds = 0.02
    yield made
    made.close()


class Stage:
    """A home with the program that its rules may start, and what that has written."""

    def __init__(self, place: Path, data: Path, url: str) -> None:
        self.home, self._written = place / "home", place / "written"
        self.home.mkdir(parents=True)
        program = place / "note"
        program.write_text(f'#!/bin/sh\necho "$PENSTOCK_KEY" "$1" >> {self._written}\n')
        program.chmod(0o755)
        (self.home / "commands").write_text(f"{program}\n")
        (self.home / "hosts").write_text("127.0.0.1\n")
        self.script = SCRIPT.format(data=data, url=url, program=program)

    def noted(self) -> list[tuple[str, int]]:
        lines = self._written.read_text().splitlines()
        return [(key, int(n)) for key, n in map(str.split, lines)]

    def outcome(self, spark: SparkSession) -> dict[str, Any]:
        """Let everything end, and return what has to be the same after any deaths."""
        with penstock.connect(self.home, spark=spark) as ps:
            ps.script(self.script)
            until(ps, lambda: rule(ps, "early")["done"] == rule(ps, "soon")["done"] == 3)
            ps.end("others")  # not before away is stopped: what has ended cannot be
            finish(ps)
            ps.sql("CREATE QUERY seen AS SELECT ts, who, n FROM alarms")
            ps.end("alarms")
            finish(ps)
            shown = {what: rows_of(ps.sql(f"SHOW {what}").table) for what in ("RULES", "QUERIES")}
            return {
                "inserted": Counter((r["who"], r["n"]) for r in results(ps, "seen").to_pylist()),
                "rules": {r["rule"]: (r["fired"], r["done"], r["dead"]) for r in shown["RULES"]},
                "stopped": {r["query"] for r in shown["QUERIES"] if r["state"] == "STOPPED"},
                "goals": ps.system.directory.query("odd").definition.goals,
            }


def _told(server: Server) -> list[tuple[str, int]]:
    return [(each["key"], row["n"]) for each in server.told for row in each["rows"]]


def _each_by_one_key(told: list[tuple[str, int]], expected: set[int]) -> None:
    assert {n for _, n in told} == expected
    assert len(set(told)) == len(expected) == len({key for key, _ in told})


@pytest.mark.timeout(900)
def test_rules_of_a_process_that_is_killed_do_everything_once_and_tell_it_at_least_once(
    server: Server, spark: SparkSession, tmp_path: Path
) -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [{"ts": begin + timedelta(seconds=n), "n": n} for n in range(ROWS)]
    write_json(tmp_path / "data" / "house.json", rows)
    peace = Stage(tmp_path / "peace", tmp_path / "data", server.url)
    expected = peace.outcome(spark)
    assert expected["inserted"] == Counter(
        [("now", n) for n in ODD if n > 10]
        + [("again", n + 1) for n in ODD if n > 10]
        + [("later", n) for n in ODD if n % 3 == 0]
    )
    assert expected["rules"]["soon"] == (1, 3, 0)
    assert expected["stopped"] == {"away"}
    assert expected["goals"] == Goals(timedelta(hours=1), weight=3.0)
    assert Counter(_told(server)).most_common(1)[0][1] == 1  # nobody was killed
    server.told.clear()
    killed = Stage(tmp_path / "killed", tmp_path / "data", server.url)
    told = {"home": str(killed.home), "script": killed.script, "rows_a_run": 20}
    random_ = random.Random(3)
    for word in ("standing", "open"):  # the second dies while it comes back
        enough = len(server.told) + (random_.randrange(5, 15) if word == "standing" else 0)
        server.most = enough  # so that something is left, however long it takes until the kill
        child = Child(tmp_path / "killed", told)
        try:
            assert child.wait_for(word), child.errors()
            _wait_for_more(server, enough)
            time.sleep(random_.uniform(0, 0.1))
        finally:
            child.kill()
        assert "done" not in child.said
    server.most = sys.maxsize
    before = len(server.told)
    assert killed.outcome(spark) == expected
    assert before < len(server.told)  # the last death was not after the end
    _each_by_one_key(_told(server), {n for n in ODD if n % 5 == 0})
    _each_by_one_key(killed.noted(), {n for n in ODD if n % 25 == 0})


def _wait_for_more(server: Server, enough: int) -> None:
    until(lambda: f"{len(server.told)} of {enough}", lambda: len(server.told) >= enough)
