"""A table whose files change is read anew; results stay exactly once over the change."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from tests.e2e.death import Reaper, bury, reaping
from tests.e2e.support import replace_json, results, rows_of, until

pytestmark = pytest.mark.spark


def script(place: Path) -> str:
    return f"""
        CREATE TABLE IF NOT EXISTS names (k INT, name STRING)
          FROM files(path => '{place / "names"}', format => 'json');
        CREATE STREAM IF NOT EXISTS s (n INT, k INT) FROM push();
        CREATE QUERY IF NOT EXISTS named AS
          SELECT s.n, t.name FROM s JOIN names AS t ON s.k = t.k"""


def write(place: Path, name: str) -> None:
    replace_json(place / "names" / "names.json", [{"k": 1, "name": name}])


def table(ps: Connection) -> dict[str, Any]:
    (found,) = rows_of(ps.sql("SHOW TABLES").table)
    return found


def named(ps: Connection) -> list[tuple[int, str]]:
    return [(row["n"], row["name"]) for row in rows_of(results(ps, "named"))]


def test_tuples_meet_the_rows_that_are_in_force(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, "old")
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(script(tmp_path))
        ps.push("s", [{"n": 1, "k": 1}])
        until(ps, lambda: named(ps) == [(1, "old")])
        write(tmp_path, "newer")
        until(ps, lambda: table(ps)["version"] == 2)
        assert (table(ps)["rows"], table(ps)["cause"]) == (1, "")
        ps.push("s", [{"n": 2, "k": 1}])
        until(ps, lambda: named(ps) == [(1, "old"), (2, "newer")])
        assert rows_of(ps.sql("SELECT name FROM names").table) == [{"name": "newer"}]
        (tmp_path / "broken").write_text("no JSON at all {")
        (tmp_path / "broken").replace(tmp_path / "names" / "names.json")
        until(ps, lambda: table(ps)["cause"].startswith("SOURCE_FAILED"))
        ps.push("s", [{"n": 3, "k": 1}])
        until(ps, lambda: named(ps)[-1] == (3, "newer"))
        replace_json(tmp_path / "names" / "more.json", [{"k": 2, "name": "other"}])
        write(tmp_path, "newest")
        until(ps, lambda: table(ps)["version"] == 3)
        assert (table(ps)["rows"], table(ps)["cause"]) == (2, "")


@pytest.fixture
def reaper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reaper]:
    with reaping(tmp_path, monkeypatch) as watching:
        yield watching


@pytest.mark.parametrize(
    "point", ["journal INSERT INTO runs unit after", "journal INSERT INTO runs query after"]
)
def test_what_was_begun_over_the_old_rows_is_ended_over_them(
    point: str, reaper: Reaper, spark: SparkSession, tmp_path: Path
) -> None:
    write(tmp_path, "old")
    ps = penstock.connect(tmp_path / "home", spark=spark)
    ps.script(script(tmp_path))
    reaper.live_until(point)
    ps.push("s", [{"n": 1, "k": 1}])
    until(ps, lambda: reaper.dead)
    bury(ps, reaper)
    reaper.live_until(None)
    write(tmp_path, "newer")
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        until(ps, lambda: named(ps) == [(1, "old")])
        until(ps, lambda: table(ps)["version"] == 2)
        ps.push("s", [{"n": 2, "k": 1}])
        until(ps, lambda: named(ps) == [(1, "old"), (2, "newer")])


def test_a_table_that_is_gone_at_a_restart_is_the_one_that_was(
    spark: SparkSession, tmp_path: Path
) -> None:
    write(tmp_path, "old")
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(script(tmp_path))
    (tmp_path / "names").rename(tmp_path / "away")
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.push("s", [{"n": 1, "k": 1}])
        until(ps, lambda: named(ps) == [(1, "old")])
        until(ps, lambda: "there is no" in table(ps)["cause"])
        ps.sql("DROP QUERY named; DROP TABLE names")
        assert list((tmp_path / "home" / "tables").iterdir()) == []
