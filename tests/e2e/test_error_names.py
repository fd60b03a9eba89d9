"""No error shows a name that only Penstock knows, whatever is wrong with a statement."""

import re
from pathlib import Path

import pytest

from penstock.client import Connection
from penstock.errors import PenstockError

pytestmark = pytest.mark.spark

R = "[RANGE 1 MINUTE]"
STANDING = (
    f"SELECT count(*) + array(1) AS x FROM s {R}",
    f"SELECT k, count(*) AS c FROM s {R} GROUP BY k HAVING count(*)",
    f"SELECT k, count(*) AS c FROM s {R} GROUP BY k HAVING k",
    f"SELECT k, count(*) AS c FROM s {R} GROUP BY k HAVING k + array(1) > 1",
    f"SELECT k, count(*) AS c FROM s {R} GROUP BY k ORDER BY map(k, count(*)) LIMIT 1",
    f"SELECT upper(collect_list(n)) + sum(n) AS x FROM s {R}",
    f"SELECT date_add(count(*), k) AS x FROM s {R} GROUP BY k",
    f"SELECT date_add(k, count(*)) AS x, nada(count(*)) AS y FROM s {R} GROUP BY k",
    f"SELECT k, n, count(*) AS x FROM s {R} GROUP BY k",
    f"SELECT lag(count(*)) OVER (PARTITION BY window_start) AS x FROM s {R} GROUP BY k",
    "SELECT sum(count(*)) OVER (PARTITION BY window_start ORDER BY k RANGE BETWEEN k "
    f"PRECEDING AND CURRENT ROW) AS x FROM s {R} GROUP BY k",
    f"SELECT k FROM s {R} GROUP BY k QUALIFY count(*)",
    f"SELECT k FROM s {R} QUALIFY n",
    f"SELECT sum(k) + array(1) AS x FROM s {R}",
    f"SELECT sum(array(n)) AS x FROM s {R}",
    f"SELECT window_start + array(1) AS x, count(*) AS c FROM s {R}",
    "SELECT n + array(1) AS x FROM s",
    "SELECT nada(n) AS x FROM s",
    "SELECT n FROM s WHERE n = array(1)",
    "SELECT n FROM s WHERE n",
    "SELECT s.n FROM s JOIN t ON s.n = array(t.m)",
    "SELECT s.n, t.k || t.m + array(s.n) AS x FROM s JOIN t ON s.n = t.m",
    f"SELECT a.n FROM s {R} a JOIN s2 {R} b ON a.n = array(b.n)",
    f"SELECT a.n, b.n + array(1) AS x FROM s {R} a JOIN s2 {R} b ON a.n = b.n",
    "SELECT a.n, b.n + array(1) AS x FROM s [ROWS 3] a JOIN s2 [ROWS 3] b ON a.n = b.n",
    "SELECT a.n FROM s [ROWS 3] a JOIN s2 [ROWS 3] b ON a.n = array(b.n)",
    "SELECT a.n FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE] a JOIN s2 [RANGE 1 MINUTE "
    "SLIDE 1 MINUTE] b ON a.n = array(b.n)",
    "SELECT n FROM s WHERE n IN (SELECT array(m) FROM t)",
    "SELECT n FROM s WHERE n > (SELECT nada FROM t)",
    "SELECT n FROM s WHERE n > (SELECT m, k FROM t)",
    "SELECT n FROM s WHERE n > (SELECT k, max(m) FROM t)",
    "SELECT n FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.m = array(s.n))",
    "SELECT n FROM s UNION ALL SELECT array(n) FROM s2",
    "SELECT n, ts FROM s UNION ALL SELECT n FROM s2",
    "SELECT ts, n FROM s INTERSECT SELECT ts, map(n, n) FROM s2",
    "SELECT count(*) + array(1) AS x FROM s [SESSION GAP 1 MINUTE]",
    "SELECT count(*) + array(1) AS x FROM s [PARTITION BY k ROWS 3]",
    "SELECT sum(array(n)) AS x FROM s [PARTITION BY k ROWS 3]",
    "SELECT count(*) + array(1) AS x FROM s [ROWS 3]",
    f"SELECT k, grouping(k) + array(1) AS x FROM s {R} GROUP BY ROLLUP (k)",
    f"SELECT x.c + array(1) AS y FROM (SELECT k, count(*) AS c FROM s {R} GROUP BY k) AS x",
    f"SELECT c + array(1) AS y FROM (SELECT k, count(*) AS c FROM s {R} GROUP BY k)",
    f"SELECT max(n) AS m, m + array(1) AS x FROM s {R}",
    f"SELECT k, collect_list(n).a AS x FROM s {R} GROUP BY k",
    f"SELECT first(k).a AS x FROM s {R}",
    f"SELECT percentile(k, n) AS x FROM s {R}",
    f"SELECT DISTINCT map(k, n) AS x FROM s {R}",
    f"SELECT n, rank() OVER (PARTITION BY window_start ORDER BY map(k, n)) AS r FROM s {R}",
    "SELECT explode(n) AS x FROM s",
    f"SELECT explode(collect_list(n)) + 1 AS x FROM s {R}",
    f"SELECT k, sum(n) FILTER (WHERE k) AS x FROM s {R} GROUP BY k",
    "SELECT a.n, sum(b.n) + array(1) AS x FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE] a "
    "JOIN s2 [RANGE 1 MINUTE SLIDE 1 MINUTE] b ON a.n = b.n",
    "SELECT count(*) + array(1) AS x FROM s [LANDMARK FROM TIMESTAMP '2026-01-01' "
    "EVERY 10 SECONDS]",
    f"SELECT k, rank() OVER (ORDER BY count(*) DESC) AS x FROM s {R} GROUP BY k",
    f"SELECT k, rank() OVER (PARTITION BY k ORDER BY sum(n), k) AS x FROM s {R} GROUP BY k",
    f"SELECT k FROM s {R} GROUP BY k QUALIFY row_number() OVER (ORDER BY max(n), k) = 1",
    f"SELECT k FROM s {R} GROUP BY k HAVING rank() OVER (PARTITION BY window_start "
    "ORDER BY count(*)) = 1",
    "SELECT k, rank() OVER (PARTITION BY window_start ORDER BY count(*)) AS x FROM s "
    "[LANDMARK FROM TIMESTAMP '2026-01-01' EVERY 10 SECONDS] GROUP BY k",
    f"SELECT c, sum(c) OVER (ORDER BY c) AS x FROM (SELECT k, count(*) AS c FROM s {R} GROUP BY k)",
    f"SELECT c FROM (SELECT k, count(*) AS c FROM s {R} GROUP BY k) ORDER BY map(c, c) LIMIT 1",
    f"SELECT c + array(1) AS x FROM (SELECT count(*) AS c FROM s {R} GROUP BY k) ORDER BY c",
    f"SELECT DISTINCT c FROM (SELECT k, count(*) AS c FROM s {R} GROUP BY k) ORDER BY k LIMIT 1",
    f"SELECT sum(count(t.k)) AS x FROM s {R} JOIN t ON s.n = t.m",
    f"SELECT s.k, t.k AS x, count(*) AS c FROM s {R} JOIN t ON s.n = t.m GROUP BY s.k",
    f"SELECT s.k, count(*) AS c FROM s {R} JOIN t ON s.n = t.m GROUP BY s.k HAVING t.k = 'a'",
    f"SELECT grouping(t.k) AS x, count(*) AS c FROM s {R} JOIN t ON s.n = t.m GROUP BY ROLLUP (m)",
    "SELECT s.n FROM s JOIN t ON s.n = t.m WHERE rank() OVER (ORDER BY t.k) = 1",
    f"SELECT a.n FROM s {R} a JOIN s2 {R} b ON a.n = b.n WHERE max(b.k) = 'a'",
    f"SELECT b.n, row_number() OVER (ORDER BY b.k) AS x FROM s {R} a JOIN s2 {R} b ON a.n = b.n",
    "SELECT sum(max(b.n)) AS x FROM (SELECT 1) a JOIN s2 b ON true",
    f"SELECT k, count(*) AS c FROM s {R} GROUP BY k EMIT EARLY EVERY INTERVAL 1 SECOND",
    f"SELECT k AS emitted, count(*) AS c FROM s {R} GROUP BY k EMIT EARLY EVERY INTERVAL 1 SECOND",
    f"SELECT k, count(*) AS c FROM s {R} GROUP BY k ORDER BY c LIMIT 1 "
    "ALLOWED LATENESS INTERVAL 1 SECOND",
)
ONCE = (
    "SELECT nada FROM s",
    "SELECT s.nada FROM s",
    "SELECT x.nada FROM s AS x",
    "SELECT k, count(*) FROM s",
    "SELECT n + array(1) FROM s",
    "SELECT nada(n) FROM s",
    "SELECT * FROM s JOIN t USING (nada)",
    "SELECT * FROM s JOIN s2 ON s.n = array(s2.n)",
    "SELECT n FROM s JOIN s2 ON s.n = s2.n",
    "SELECT (SELECT k, m FROM t)",
    "SELECT s.* FROM s, s2 WHERE s.nada = s2.nada",
    "SELECT * FROM s TABLESAMPLE (200 PERCENT)",
    "SELECT * FROM s VERSION AS OF 3",
    "SELECT * FROM s LATERAL VIEW explode(n) x AS y",
    "SELECT sum(n) OVER (ORDER BY map(k, n)) FROM s",
    "SELECT * FROM s ORDER BY nada",
    "SELECT k FROM s GROUP BY k HAVING nada > 1",
    "SELECT 1/0 FROM t",
    "SELECT CAST(k AS INT) FROM t",
    "SELECT raise_error('x') FROM t",
    "SELECT * EXCEPT (nada) FROM s",
    "SELECT nada.* FROM s",
    "SELECT k FROM s UNION SELECT n, k FROM s",
    "SELECT k FROM s WHERE n IN (SELECT k, m FROM t)",
    "SELECT element_at(array(1), 5) FROM t",
)
OTHERS = (
    "PUNCTUATE s WHERE n = array(1)",
    "PUNCTUATE s WHERE nada(n)",
    "CREATE RULE r ON s WHEN n = array(1) DO INSERT INTO s2 SELECT ts, k, n",
    "CREATE RULE r ON s DO INSERT INTO s2 SELECT ts, k, array(n)",
    "CREATE EVENT e AS n + array(1) AS x FROM s",
)
# Names of partials, keys, views, sides and hidden columns, as generated SQL has them.
OURS = re.compile(
    r"penstock_|\b_*[ak]\d+(_\d+)?\b|\binput\d*\.|\b_(qualifies|order\d+|by|window|side|set)\b"
    r"|\br_n\b|\bt_k\b|\b[lr]\.\w"
)


def told(ps: Connection, text: str) -> str:
    """Return what is said of a statement; Spark may learn to run some of them."""
    try:
        ps.sql(text)
    except PenstockError as error:
        return f"{error.message}\n{error.hint}"
    ps.sql("DROP QUERY IF EXISTS q")
    return ""


def test_no_error_shows_a_name_of_ours(ps: Connection, tmp_path: Path) -> None:
    table = tmp_path / "t.json"
    table.write_text('{"k": "a", "m": 1}\n')
    for name in ("s", "s2"):
        ps.sql(f"CREATE STREAM {name} (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM push()")
    ps.sql(f"CREATE TABLE t (k STRING, m INT) FROM files(path => '{table}', format => 'json')")
    found: list[tuple[str, str]] = []
    for text in (*(f"CREATE QUERY q AS {each}" for each in STANDING), *ONCE, *OTHERS):
        shown = told(ps, text)
        found += [(text, shown)] if OURS.search(shown) else []
    assert not found


def test_an_aggregate_is_called_as_it_was_written(ps: Connection) -> None:
    ps.sql("CREATE STREAM s (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM push()")
    with pytest.raises(PenstockError) as refused:
        ps.sql(f"CREATE QUERY q AS SELECT sum(n) + array(1) AS x FROM s {R}")
    assert '"(SUM(n) + array(1))"' in refused.value.message
