"""`penstock run`, killed with kill -9 and run again, gives what an undisturbed run gives."""

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.e2e.children import ROOT
from tests.e2e.support import PATIENCE, until, write_json
from tests.examples import IS_WHOLE

pytestmark = pytest.mark.spark

COMMAND = ["run", "script.sql", "--until-idle", "--format", "json", "--home", "home"]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
COUNT, SECONDS = 300, 30  # tuples of every source, over so long
SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.int32()), ("v", pa.int32())])
COLUMNS = "(ts TIMESTAMP, k INT, v INT) TIMESTAMP BY ts"
GENERATED = f"rows => {COUNT}, start => TIMESTAMP '2026-01-01', k => n % 3, v => n"
# Small trains, so that many runs are recorded and not done when death comes.
SOURCES = {
    "paced": f"generator({GENERATED}, rate => 200, rows_per_train => 50)",
    "unpaced": f"generator({GENERATED}, rate => 10, rows_per_train => 20, paced => false)",
    "json": "files(path => 'in/*.json', format => 'json', bounded => true, rows_per_train => 20)",
    "csv": "files(path => 'in/*.csv', format => 'csv', bounded => true, rows_per_train => 20)",
    "parquet": "files(path => 'in/rows.parquet', format => 'parquet', bounded => true, "
    "rows_per_train => 20)",
    "replayed": "replay(path => 'in/rows.parquet', format => 'parquet', speed => 20, "
    "rows_per_train => 20)",
    "spark": "spark(format => 'parquet', path => 'in', pathglobfilter => '*.parquet', "
    "bounded => true)",
}
QUERIES = """
CREATE STREAM IF NOT EXISTS {name} {columns} FROM {source};
CREATE QUERY IF NOT EXISTS {name}_sums AS
  SELECT window_start, k, count(*) AS n, sum(v) AS total
  FROM {name} [RANGE 5 SECONDS] GROUP BY k INTO files(path => 'out/{name}', format => 'json');
CREATE QUERY IF NOT EXISTS {name}_some AS SELECT ts, v FROM {name} WHERE v % 4 = 0;
"""
# Cells of a stream, slice by slice of time.
GRID = """
CREATE BASE IF NOT EXISTS readings FROM csv (ts, k, v, v);
CREATE PERSPECTIVE IF NOT EXISTS cells FROM readings
  GRID (time INTERVAL 5 SECONDS, lat 1, lon 1000) AS aggregate(sum);
CREATE QUERY IF NOT EXISTS slices AS SELECT time, lat, value FROM cells;
"""


class Place:
    """A directory with the input, in which the command is run."""

    def __init__(self, path: Path) -> None:
        self.path, self.printed, self.lives = path, path / "printed", 0
        (path / "in").mkdir(parents=True)
        rows = [
            {"ts": BEGIN + timedelta(seconds=SECONDS * n / COUNT), "k": n % 3, "v": n}
            for n in range(COUNT)
        ]
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path / "in" / "rows.parquet")
        shown = [row | {"ts": row["ts"].isoformat()} for row in rows]
        write_json(path / "in" / "rows.json", shown)
        lines = [",".join(map(str, row.values())) for row in shown]
        (path / "in" / "rows.csv").write_text("\n".join(["ts,k,v", *lines]) + "\n")
        script = (
            QUERIES.format(name=name, columns=COLUMNS, source=source)
            for name, source in SOURCES.items()
        )
        (path / "script.sql").write_text("".join([*script, GRID]))

    def start(self) -> subprocess.Popen[bytes]:
        """Run the command as a process group of its own, so that its Java dies with it."""
        self.lives += 1
        with self.printed.open("ab") as out, (self.path / "told").open("ab") as told:
            return subprocess.Popen(
                [sys.executable, "-m", "penstock", *COMMAND],
                cwd=self.path,
                env=ENVIRONMENT,
                stdout=out,
                stderr=told,
                start_new_session=True,
            )

    def told(self) -> str:
        return (self.path / "told").read_text()

    def size(self) -> int:
        return self.printed.stat().st_size

    def rows(self) -> Counter[tuple[str, str]]:
        """Return what was printed; death may cut the last line, which is printed again then."""
        found: Counter[tuple[str, str]] = Counter()
        for line in self.printed.read_text().splitlines():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue
            found[row["query"], json.dumps(row["row"])] += 1
        return found

    def written(self) -> dict[str, bytes]:
        return {
            name: b"".join(p.read_bytes() for p in sorted((self.path / "out" / name).iterdir()))
            for name in SOURCES
        }


def await_file(place: Place, process: subprocess.Popen[bytes], name: str) -> None:
    """Wait until the command has made a file."""
    until(place.told, lambda: process.poll() is not None or (place.path / name).exists())
    assert process.poll() is None, place.told()


def die_at(place: Place, process: subprocess.Popen[bytes], size: int) -> bool:
    """Kill the command once it has printed so much; False where it has ended before."""
    until(place.told, lambda: process.poll() is not None or place.size() >= size)
    if process.poll() is not None:
        return False
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(PATIENCE)
    return True


@pytest.mark.timeout(1800)
def test_a_command_that_is_killed_and_repeated_gives_what_an_undisturbed_one_gives(
    tmp_path: Path,
) -> None:
    undisturbed, killed = Place(tmp_path / "undisturbed"), Place(tmp_path / "killed")
    assert undisturbed.start().wait(PATIENCE) == 0, undisturbed.told()
    expected = undisturbed.rows()
    assert {name for name, _ in expected} == {"slices", *(f"{name}_some" for name in SOURCES)}
    assert set(expected.values()) == {1}

    early = killed.start()  # while the script is carried out, before anything flows
    await_file(killed, early, "home/catalog.db")
    os.killpg(early.pid, signal.SIGKILL)
    early.wait(PATIENCE)

    random_ = random.Random(15)
    for _ in range(3 if IS_WHOLE else 2):
        process = killed.start()
        if not die_at(
            killed, process, killed.size() + random_.randrange(1, undisturbed.size() // 4)
        ):
            assert process.wait() == 0, killed.told()
    assert killed.start().wait(PATIENCE) == 0, killed.told()
    assert set(killed.rows()) == set(expected)
    assert killed.written() == undisturbed.written()
