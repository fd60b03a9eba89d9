"""Deaths between the runs of flows change nothing in what they give."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.runtime import readiness
from tests.e2e.death import Reaper, calm_and_disturbed, reaping
from tests.e2e.support import write_json

pytestmark = pytest.mark.spark

DEATHS = 5
QUERIES = {
    "turns": "FLOW pcc(3, rr_part, fft3, s_merge) OVER v",
    "parts": "FLOW pcc(2, fft3_part, fft3, os_join(fft3_combine)) OVER v",
    "windows": "FLOW window_aggregate('mean', 5, 2) OVER v",
    "sampled": "FLOW pipe(sample(3), fft3) OVER v",
    "spread": "FLOW pcc(2, rr_part, fft3, s_merge) OVER v",
}


@pytest.fixture
def reaper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reaper]:
    monkeypatch.setattr(readiness, "FLOW_ROWS", 20)
    with reaping(tmp_path, monkeypatch) as watching:
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
