"""One script of many queries whose files come out the same, byte by byte, however it is cut.

Every aggregate shows its window's start, by which rows of one run are put in order, and no row is
more than the slack behind: so neither the cut into trains nor the grouping of runs shows. Sums are
exact; only the moments depend on it in their last digit, and are rounded.
"""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.e2e.support import write_json

BEGIN = datetime(2026, 5, 1, tzinfo=UTC)
PLACES = (
    {"k": "a", "label": "north"},
    {"k": "b", "label": "south"},
    {"k": "b", "label": "port"},
)
# Query, the format of its files, and its SELECT.
QUERIES = (
    ("passed", "json", "SELECT * FROM s"),
    ("kept", "csv", "SELECT id, ts, upper(k) AS k FROM s WHERE n % 3 <> 0"),
    (
        "tumbling",
        "json",
        "SELECT window_start, k, count(*) AS c, sum(n) AS total, avg(x) AS mean, "
        "first(id) AS one, max_by(id, n) AS best FROM s [RANGE 10 SECONDS] GROUP BY k",
    ),
    (
        "sliding",
        "parquet",
        "SELECT window_start, window_end, count(*) AS c, sum(x) AS total, "
        "round(stddev(n), 6) AS spread "
        "FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] HAVING count(*) > 2",
    ),
    (
        "rolled",
        "csv",
        "SELECT window_start, sum(c) AS c, max(total) AS most FROM tumbling [RANGE 1 MINUTE]",
    ),
    (
        "placed",
        "parquet",
        "SELECT s.id, s.ts, p.label FROM s LEFT JOIN places AS p ON s.k = p.k WHERE s.n > 0",
    ),
)


def make_rows(count: int, *, seed: int = 1, seconds: int = 240) -> list[dict[str, Any]]:
    """Return rows in the order of arrival, at most five seconds behind."""
    random_ = random.Random(seed)
    arrivals = sorted(random_.randrange(seconds * 1000) for _ in range(count))
    return [
        {
            "id": number,
            "ts": (BEGIN + timedelta(milliseconds=at - random_.randrange(5_001))).isoformat(),
            "k": random_.choice(("a", "b", "c", None)),
            "n": random_.randrange(-20, 21),
            "x": random_.randrange(-640, 641) / 64,
        }
        for number, at in enumerate(arrivals)
    ]


def prepare(directory: Path, rows: list[dict[str, Any]], *, rows_per_train: int) -> str:
    """Write the data below a directory and return the script, with {out} where results go."""
    write_json(directory / "s" / "rows.json", rows)
    write_json(directory / "places.json", PLACES)
    lines = [
        f"CREATE TABLE IF NOT EXISTS places (k STRING, label STRING) "
        f"FROM files(path => '{directory / 'places.json'}', format => 'json')",
        "CREATE STREAM IF NOT EXISTS s (id INT, ts TIMESTAMP, k STRING, n INT, x DOUBLE) "
        "TIMESTAMP BY ts SLACK INTERVAL 5 SECONDS "
        f"FROM files(path => '{directory / 's'}', format => 'json', bounded => true, "
        f"rows_per_train => {rows_per_train})",
    ]
    for name, kind, select in QUERIES:
        header = ", header => false" if kind == "csv" else ""
        lines.append(
            f"CREATE QUERY IF NOT EXISTS {name} AS {select} "
            f"INTO files(path => '{{out}}/{name}', format => '{kind}'{header})"
        )
    return ";\n".join(lines)


def contents(out: Path) -> dict[str, bytes | pa.Table]:
    """Return what each query has written: text one after the other, Parquet as one table."""
    found: dict[str, bytes | pa.Table] = {}
    for name, kind, _ in QUERIES:
        parts = sorted((out / name).glob("part-*"))
        if kind == "parquet":
            found[name] = pa.concat_tables([pq.ParquetFile(part).read() for part in parts])
        else:
            found[name] = b"".join(part.read_bytes() for part in parts)
    return found


def same(found: dict[str, bytes | pa.Table], expected: dict[str, bytes | pa.Table]) -> None:
    """Fail where two runs differ, and say in which query."""
    for name, content in expected.items():
        assert found[name] == content, f"{name} differs"
