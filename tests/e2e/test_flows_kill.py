"""Deaths between the runs of flows change nothing in what they give."""

import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.functions import Items, stream_function
from penstock.runtime.work.run_limits import RunLimits
from tests.e2e.death import Reaper, calm_and_disturbed, live, reaping
from tests.e2e.support import finish, rows_of, write_json

pytestmark = pytest.mark.spark

DEATHS = 5
SLEEP_SECONDS = 900  # far longer than anything takes; nobody waits for it


@stream_function(over="items")
def slow_once(items: Items, *, branch: int, mark: str) -> Items:
    """Sleep in branch 1, but only the first time that anybody does."""
    if branch == 1 and not Path(mark).exists():
        Path(mark).touch()
        time.sleep(SLEEP_SECONDS)
    return items


QUERIES = {
    "turns": "FLOW pcc(3, rr_part, fft3, s_merge) OVER v",
    "parts": "FLOW pcc(2, fft3_part, fft3, os_join(fft3_combine)) OVER v",
    "windows": "FLOW window_aggregate('mean', 5, 2) OVER v",
    "sampled": "FLOW pipe(sample(3), fft3) OVER v",
    "spread": "FLOW pcc(2, rr_part, fft3, s_merge) OVER v",
}


@pytest.fixture
def reaper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reaper]:
    with reaping(tmp_path, monkeypatch, RunLimits(flow_rows=20)) as watching:
        yield watching


def prepare(directory: Path) -> str:
    begin, random_ = datetime(2026, 5, 1, tzinfo=UTC), random.Random(5)
    rows = [
        {
            "ts": (begin + timedelta(seconds=at - random_.randrange(3))).isoformat(),
            "x": [[random_.randrange(9), at] for _ in range(4)],
        }
        for at in range(80)
    ]
    write_json(directory / "v/rows.json", rows)
    lines = [
        "CREATE STREAM IF NOT EXISTS v (ts TIMESTAMP, x COMPLEX VECTOR) TIMESTAMP BY ts "
        f"SLACK INTERVAL 5 SECONDS FROM files(path => '{directory / 'v'}', format => 'json', "
        "bounded => true, rows_per_train => 8)"
    ]
    for name, flow in QUERIES.items():
        sites = "workers" if name == "spread" else "driver"
        lines.append(
            f"CREATE QUERY IF NOT EXISTS {name} WITH (sites => '{sites}') AS {flow} "
            f"INTO files(path => '{{out}}/{name}', format => 'json')"
        )
    return ";\n".join(lines)


def test_flows_survive_deaths_at_random(
    reaper: Reaper, spark: SparkSession, tmp_path: Path
) -> None:
    expected, found = calm_and_disturbed(
        reaper, spark, tmp_path, prepare(tmp_path), random.Random(3), DEATHS
    )
    assert all(expected[name] for name in QUERIES)
    assert found == expected
    assert len(expected["turns"]) == 80


def test_a_branch_that_was_given_up_stays_given_up(
    reaper: Reaper, spark: SparkSession, tmp_path: Path
) -> None:
    script = prepare(tmp_path).split(";\n", maxsplit=1)[0]
    query = (
        "CREATE QUERY late WITH (sites => 'workers') AS "
        f"FLOW pcc(2, rr_part, slow_once(#, '{tmp_path / 'mark'}'), s_merge(1)) OVER v"
    )
    ps = penstock.connect(tmp_path / "home", spark=spark, functions=[slow_once])
    reaper.live_until("journal UPDATE after")  # it has been noted, and nobody has seen the rows
    ps.script(f"{script};{query}")
    assert not live(ps, reaper)
    reaper.live_until(None)
    with penstock.connect(tmp_path / "home", spark=spark, functions=[slow_once]) as ps:
        finish(ps)
        given = len(rows_of(ps.sql("SELECT * FROM late").table))
        lost = rows_of(ps.sql("SELECT * FROM late.held").table)
    assert {row["kind"] for row in lost} == {"lost"}  # though nothing is slow any more
    assert given + len(lost) == 80
