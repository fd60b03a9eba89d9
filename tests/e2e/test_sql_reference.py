"""Every form in the reference runs as it stands there."""

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.client import connect
from penstock.sql import CreateQuery, SelectOnce, parse
from tests.e2e.support import figures, finish

pytestmark = pytest.mark.spark

REFERENCE = Path(__file__).parents[2] / "docs/reference/sql.md"
FIRST, LAST = "## Windows", "## Connectors"
STREAMS = "".join(
    f"""
    CREATE STREAM {name} (ts TIMESTAMP, car_id STRING, type STRING, mph INT) TIMESTAMP BY ts
      FROM generator(rows => 300, rate => 0.5, paced => false, rows_per_train => 100,
                     start => TIMESTAMP '2026-01-31 23:00:00',
                     car_id => concat('c', n % 7), type => if(n % 3 = 0, 'Truck', 'Car'),
                     mph => 20 + n * 7 % 90);
    """
    for name in ("traffic", "sensor1", "sensor2")
) + "".join(
    f"""
    CREATE STREAM {name} (n BIGINT, mph INT) ORDERED BY n SCRAMBLED 0
      FROM generator(rows => 300, paced => false, rows_per_train => 100, n => n,
                     mph => 20 + n * 7 % 90);
    """
    for name in ("lane1", "lane2")
)


def selects() -> list[str]:
    text = REFERENCE.read_text()
    part = text[text.index(FIRST) : text.index(LAST)]
    found = []
    for block in re.findall(r"```sql\n(.*?)```", part, re.DOTALL):
        for statement in parse(block):
            assert isinstance(statement, SelectOnce | CreateQuery), statement
            found.append(statement.text)
    return found


def test_every_form_of_the_reference_runs_to_the_end(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "roads.json").write_text('{"name": "Main", "speed_limit": 50}\n')
    roads = f"CREATE TABLE roads FROM files(path => '{tmp_path}/roads.json', format => 'json');"
    queries: dict[str, str] = {}
    for number, text in enumerate(selects()):
        made = re.match(r"CREATE QUERY (\w+)", text)
        name = made[1] if made else f"q{number}"
        queries[name] = text if made else f"CREATE QUERY {name} AS {text}"
    with connect(tmp_path / "home", spark=spark) as ps:
        ps.script(STREAMS + roads + ";".join(queries.values()))
        finish(ps)
        for name, text in queries.items():
            standing = figures(ps, name)
            assert standing["state"] == "FINISHED", (text, standing)
            assert ps.sql(f"EXPLAIN {name}").message.startswith(f"query {name}")
        silent = {name for name in queries if not figures(ps, name)["rows_out"]}
        assert len(silent) <= len(queries) // 4, [queries[name] for name in silent]
