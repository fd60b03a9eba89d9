"""psql and JDBC over a home that runs. UPDATE_GOLDEN=1 writes anew what psql shows."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.e2e.pg import jdbc
from tests.e2e.server.served import Served, served
from tests.e2e.support import rows_of, until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]
TOUR = Path(__file__).with_name("tour.sql")
AT = datetime(2026, 1, 2, 3, 4, 5, 600000, UTC)
SCRIPT = """
CREATE STREAM trips (ts TIMESTAMP, car STRING, mph INT, xs ARRAY<BIGINT>, d DECIMAL(10,2),
  s STRUCT<a: BIGINT, b: STRING>) TIMESTAMP BY ts FROM push();
CREATE QUERY quick AS SELECT ts, car, mph FROM trips WHERE mph > 60;
"""


@pytest.fixture
def server(spark: SparkSession, tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "home", spark, {"pg_port": 0}) as made:
        yield made


def test_a_script_of_psql_shows_what_it_is_expected_to(server: Served) -> None:
    found = shutil.which("psql")
    if found is None:
        pytest.skip("psql is not installed (postgresql-client)")
    host, _, port = server.pg.removeprefix("postgresql://").partition(":")
    done = subprocess.run(
        [found, "-X", "-h", host, "-p", port, "-U", "me", "-f", TOUR.name],
        capture_output=True,
        text=True,
        check=False,
        cwd=TOUR.parent,
        timeout=300,
        env={"PATH": "/usr/bin:/bin"},
    )
    shown = f"{done.stdout}-- standard error\n{done.stderr}"
    golden = TOUR.with_suffix(".out")
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(shown)
    assert shown == golden.read_text()


def test_jdbc_goes_the_whole_way_over_a_running_home(server: Served) -> None:
    ps = server.connection
    ps.script(SCRIPT)
    row = {"ts": AT, "xs": [1, 2, None], "d": Decimal("12.50"), "s": {"a": 1, "b": "x"}}
    ps.push("trips", [row | {"car": car, "mph": 61} for car in "abc"])
    until(ps, lambda: len(rows_of(ps.sql("SELECT * FROM quick").table)) == 3)
    done = jdbc.round_trip(f"jdbc:{server.pg}/penstock?user=me", "trips", "quick")
    lines = done.stdout.splitlines()
    assert lines[:2] == ["relation trips TABLE stream", "relation quick VIEW query"], done.stderr
    assert [line for line in lines if line.startswith("row ")] == [
        "row 2026-01-02T03:04:05.600Z a 61 12.50 [1, 2, null]"
    ] * 7
    assert lines[-6:] == [
        "columns 6",
        "error 42P01",
        "followed a",
        "followed b",
        "followed c",
        "valid true",
    ], done.stderr
