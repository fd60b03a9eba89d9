"""One script with queries of every kind: Nexmark, windows, joins, events, a flow and a contract.

Their files are compared as bags of lines, and those of tests/e2e/scenario.py byte by byte.
"""

import json
import random
import re
from collections import Counter
from pathlib import Path

from tests.e2e import scenario

ROOT = Path(__file__).parents[2]
NEXMARK = ROOT / "examples/nexmark"
FEW = ("q2", "q4", "q8")
VECTORS, LENGTH = 64, 16
MORE = """
CREATE EVENT high AS SELECT id, k, n MASK n > 18 FROM s;
CREATE EVENT low AS SELECT id, k, n MASK n < -18 FROM s;
CREATE EVENT swing AS SELECT h.id AS one, l.id AS two FROM (high h SEQ low l)
  WHERE h.k = l.k WITHIN INTERVAL 2 SECONDS;
CREATE QUERY swings AS SELECT one, two FROM swing [CONTEXT recent] INTO {swings};
CREATE QUERY met AS
  SELECT a.id AS one, b.id AS two FROM s [RANGE 5 SECONDS] AS a JOIN s [RANGE 5 SECONDS] AS b
  ON a.id = b.id + 1 AND a.k = b.k INTO {met};
CREATE QUERY promised WITH (max_latency => INTERVAL 1 HOUR) AS
  SELECT window_start, k, count(*) AS c, max(n) AS most FROM s [RANGE 30 SECONDS] GROUP BY k
  INTO {promised};
CREATE STREAM TYPE timed (ts TIMESTAMP);
CREATE STREAM TYPE radio (x COMPLEX VECTOR) UNDER timed;
CREATE STREAM radio OF radio TIMESTAMP BY ts
  FROM files(path => '{radio}', format => 'json', bounded => true);
CREATE QUERY turned WITH (sites => 'workers') AS
  FLOW pcc(2, fft3_part, fft3, os_join(fft3_combine)) OVER radio INTO {turned};
"""
OWN = ("swings", "met", "promised", "turned")


def prepare(directory: Path, rows: int, *, rows_per_train: int, nexmark: tuple[str, ...]) -> str:
    """Write the data below a directory and return the script, with {out} where results go."""
    made = scenario.make_rows(rows, seconds=900)
    script = [scenario.prepare(directory, made, rows_per_train=rows_per_train)]
    _write_vectors(directory / "radio")
    sinks = {name: _sink(name) for name in OWN}
    script.append(MORE.format(**sinks, radio=directory / "radio"))
    script.append((NEXMARK / "streams.sql").read_text().replace("examples/nexmark", str(NEXMARK)))
    for name in nexmark:
        text = (NEXMARK / f"{name}.sql").read_text()
        script.append(text.strip().removesuffix(";") + f" INTO {_sink(name)}")
    whole = ";\n".join(each.strip().removesuffix(";") for each in script)
    return re.sub(r"CREATE (STREAM TYPE|\w+) (?!IF NOT|TYPE)", r"CREATE \1 IF NOT EXISTS ", whole)


def lines(out: Path, nexmark: tuple[str, ...]) -> dict[str, Counter[str]]:
    """Return what the queries besides the scenario's have written."""
    return {name: _lines(out / name) for name in (*OWN, *nexmark)}


def _lines(place: Path) -> Counter[str]:
    parts = sorted(place.glob("part-*"))
    return Counter(line for part in parts for line in part.read_text().splitlines())


def _sink(name: str) -> str:
    return f"files(path => '{{out}}/{name}', format => 'json')"


def _write_vectors(place: Path) -> None:
    chance = random.Random(5)
    place.mkdir()
    rows = [
        {
            "ts": f"2026-03-01T00:{at // 60:02d}:{at % 60:02d}Z",
            "x": [[chance.randrange(-8, 9), chance.randrange(-8, 9)] for _ in range(LENGTH)],
        }
        for at in range(VECTORS)
    ]
    (place / "a.json").write_text("\n".join(map(json.dumps, rows)))
