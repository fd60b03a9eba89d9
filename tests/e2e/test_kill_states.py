"""Deaths between the runs of every stateful operator change nothing in what it gives."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.runtime.work.run_limits import RunLimits
from tests.e2e import scenario
from tests.e2e.death import Reaper, calm_and_disturbed, reaping
from tests.e2e.support import write_json

pytestmark = pytest.mark.spark

DEATHS = 4
QUERIES = {
    "medians": "SELECT window_start, k, median(n) AS m, count(DISTINCT n) AS d, "
    "collect_list(id) AS ids FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS] GROUP BY k",
    "counted": "SELECT window_start, sum(n) AS total FROM s [ROWS 30 SLIDE 10]",
    "by_key": "SELECT k, window_end, sum(n) AS total FROM s [PARTITION BY k ROWS 8 SLIDE 3] "
    "GROUP BY k",
    "grown": "SELECT window_end, k, sum(n) AS total "
    "FROM s [LANDMARK FROM TIMESTAMP '2026-05-01 00:00:30' EVERY 25 SECONDS] GROUP BY k",
    "sessions": "SELECT window_start, window_end, k, sum(n) AS total "
    "FROM s [SESSION GAP 4 SECONDS] GROUP BY k",
    "met": "SELECT k, count(*) AS c, max(id) AS last FROM s [WHEN count(*) >= 7 OR sum(n) > 40] "
    "GROUP BY k",
    "changes": "SELECT k, id, adiff(n) OVER (PARTITION BY k) AS d FROM s",
    "pairs": "SELECT a.id AS a, b.id AS b FROM s [RANGE 3 SECONDS] AS a "
    "LEFT JOIN t [RANGE 2 SECONDS] AS b ON a.k = b.k AND a.n < b.n",
    "close": "SELECT a.id AS a, b.id AS b FROM s [RANGE 2 SECONDS] AS a "
    "JOIN t [RANGE 1 SECOND] AS b ON a.k = b.k WHERE a.n > 2",
    "closer": "SELECT a.id AS a, b.n + a.n AS n FROM s [RANGE 1 SECOND] AS a "
    "JOIN t [RANGE 3 SECONDS] AS b ON a.k = b.k WHERE b.n > a.n",
    "lasts": "SELECT a.id AS a, b.id AS b FROM s [ROWS 3] AS a JOIN t [ROWS 2] AS b ON a.k = b.k",
    "hops": "SELECT window_start, a.id AS a, b.id AS b FROM s [RANGE 6 SECONDS SLIDE 3 SECONDS] "
    "AS a JOIN t [RANGE 6 SECONDS SLIDE 3 SECONDS] AS b ON a.k = b.k AND a.n = b.n",
    "equals": "SELECT a.id, a.n, b.n AS m FROM s AS a JOIN t AS b ON a.id = b.id",
    "unequal": "SELECT a.id, b.n FROM s AS a LEFT JOIN t AS b ON a.id = b.id AND b.n > a.n",
    "cells": "SELECT time, lat, value FROM felt",
    "top": "SELECT window_start, id, n FROM s [RANGE 30 SECONDS] ORDER BY n DESC LIMIT 2",
}
GRIDS = (
    "BASE IF NOT EXISTS one FROM s (ts, n, n, x)",
    "BASE IF NOT EXISTS other FROM t (ts, n, n, x)",
    "PERSPECTIVE IF NOT EXISTS sums FROM one "
    "GRID (time INTERVAL 5 SECONDS SIZE INTERVAL 15 SECONDS, lat 10, lon 10) AS aggregate(sum)",
    "PERSPECTIVE IF NOT EXISTS firsts FROM other "
    "GRID (time INTERVAL 5 SECONDS SIZE INTERVAL 15 SECONDS, lat 10, lon 10) AS aggregate(first)",
    "PERSPECTIVE IF NOT EXISTS felt FROM sums, firsts AS merge(sums - firsts)",
)


@pytest.fixture
def reaper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reaper]:
    with reaping(tmp_path, monkeypatch, RunLimits(flow_rows=40, aggregate_rows=40)) as watching:
        yield watching


def prepare(directory: Path) -> str:
    """Write two streams and return the script, with {out} where results go."""
    lines = []
    for seed, name in enumerate("st"):
        write_json(directory / name / "rows.json", scenario.make_rows(160, seed=seed))
        lines.append(
            f"CREATE STREAM IF NOT EXISTS {name} (id INT, ts TIMESTAMP, k STRING, n INT, x DOUBLE) "
            f"TIMESTAMP BY ts SLACK INTERVAL 5 SECONDS ORDERED BY id SCRAMBLED 0 "
            f"FROM files(path => '{directory / name}', format => 'json', bounded => true, "
            f"rows_per_train => 20)"
        )
    lines += [f"CREATE {each}" for each in GRIDS]
    lines += [
        f"CREATE QUERY IF NOT EXISTS {name} AS {select} "
        f"INTO files(path => '{{out}}/{name}', format => 'json')"
        for name, select in QUERIES.items()
    ]
    return ";\n".join(lines)


@pytest.mark.timeout(900)
def test_every_stateful_operator_survives_deaths_at_random(
    reaper: Reaper, spark: SparkSession, tmp_path: Path
) -> None:
    expected, found = calm_and_disturbed(
        reaper, spark, tmp_path, prepare(tmp_path), random.Random(11), DEATHS
    )
    assert all(expected[name] for name in QUERIES)
    assert found == expected
