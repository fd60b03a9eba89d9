"""Every form that binds to nothing, and the code that says so."""

import pytest

from penstock.errors import PenstockError
from tests.unit.plan.twin import bind

NOT_YET = [
    "SELECT mph FROM traffic SORT BY mph",
    "SELECT mph FROM traffic CLUSTER BY mph",
    "SELECT mph FROM traffic DISTRIBUTE BY mph",
    "SELECT mph FROM traffic, LATERAL explode(xs)",
    "SELECT mph FROM traffic TABLESAMPLE (10 PERCENT)",
    "SELECT mph FROM range(10)",
    "SELECT * EXCEPT (st.a) FROM traffic",
]
BAD_QUERY = [
    "SELECT a.mph FROM traffic a, south b",
    "SELECT a.mph FROM traffic a JOIN traffic b ON a.mph = b.mph",
    "SELECT DISTINCT mph FROM traffic",
    "SELECT mph FROM traffic ORDER BY mph",
    "SELECT mph FROM traffic LIMIT 3",
    "SELECT mph FROM traffic LIMIT 3 OFFSET 2",
    "SELECT mph FROM traffic QUALIFY mph > 3",
    "SELECT ts FROM traffic UNION ALL (SELECT at FROM south LIMIT 1)",
    "SELECT ts FROM traffic UNION ALL SELECT at FROM south ORDER BY ts",
    "SELECT row_number() OVER (ORDER BY mph) AS r FROM traffic",
    "SELECT sum(mph) OVER (PARTITION BY kind) AS s FROM traffic",
    "SELECT sum(mph) OVER () AS s FROM traffic [RANGE 1 MINUTE]",
    "SELECT mph FROM traffic WHERE row_number() OVER (ORDER BY mph) < 3",
    "SELECT sum(max(mph)) AS m FROM traffic [RANGE 1 MINUTE]",
    "WITH x AS (SELECT 1) SELECT mph FROM x",
    "WITH RECURSIVE x AS (SELECT mph FROM traffic) SELECT mph FROM x",
    "SELECT mph FROM traffic [RANGE 1 MINUTE] ORDER BY 2",
    "SELECT count(*) AS n, row_number() OVER (ORDER BY n) AS r FROM traffic [RANGE 1 MINUTE]",
    "SELECT 1 AS one",
    "SELECT id FROM roads",
    "SELECT mph FROM traffic t, roads r",
    "SELECT mph, mph FROM traffic",
    "SELECT mph FROM traffic WHERE sum(mph) > 1",
    "SELECT mph FROM traffic HAVING mph > 1",
    "SELECT count(*) AS n FROM traffic",
    "SELECT count(*) AS n FROM sensors [RANGE 1 MINUTE]",
    "SELECT mph, count(*) AS n FROM traffic [RANGE 1 MINUTE]",
    "SELECT kind, mph, count(*) AS n FROM traffic [RANGE 1 MINUTE] GROUP BY kind",
    "SELECT count(*) AS n FROM traffic [RANGE 1 MINUTE] HAVING mph > 1",
    "SELECT kind, count(*) AS n FROM traffic [RANGE 1 MINUTE] GROUP BY 3",
    "SELECT kind, count(*) AS n FROM traffic [RANGE 1 MINUTE] GROUP BY 0",
    "SELECT max_by(mph) AS m FROM traffic [RANGE 1 MINUTE]",
    "SELECT count(*) AS n FROM traffic [RANGE 1 MINUTE] GROUP BY ROLLUP (window_start, kind)",
    "SELECT count(*) AS n FROM traffic GROUP BY ROLLUP (kind)",
    "SELECT count(*) AS n FROM traffic GROUP BY ROLLUP (ts)",
    "SELECT grouping(kind) AS g FROM traffic [RANGE 1 MINUTE] GROUP BY kind",
    "SELECT grouping(mph) AS g FROM traffic [RANGE 1 MINUTE] GROUP BY ROLLUP (kind)",
    "SELECT grouping(kind, mph) AS g FROM traffic [RANGE 1 MINUTE] GROUP BY CUBE (kind, mph)",
    "SELECT grouping() AS g FROM traffic [RANGE 1 MINUTE] GROUP BY CUBE (kind, mph)",
    "SELECT mph FROM traffic [RANGE 1 MINUTE] GROUP BY ROLLUP (kind)",
    "SELECT mph FROM traffic UNION SELECT mph FROM south",
    "SELECT mph, ts FROM traffic UNION SELECT at, mph FROM south",
    "SELECT mph FROM traffic UNION ALL SELECT mph FROM south UNION SELECT mph FROM south",
    "SELECT mph FROM traffic INTERSECT SELECT mph FROM south",
    "SELECT mph FROM traffic EXCEPT SELECT mph FROM south",
    "SELECT ts FROM traffic INTERSECT ALL SELECT at FROM south",
    "SELECT ts FROM traffic EXCEPT ALL SELECT at FROM south",
    "SELECT ts FROM traffic UNION SELECT at FROM south LIMIT 3",
    "(SELECT ts FROM traffic UNION SELECT at FROM south) LIMIT 3",
    "(SELECT ts FROM traffic) LIMIT 3",
    "SELECT ts, mph FROM traffic UNION ALL BY NAME SELECT at AS ts FROM south",
    "SELECT a.ts FROM traffic [RANGE 1 MINUTE] a JOIN south [RANGE 1 MINUTE] b ON a.mph = b.mph "
    "LATERAL VIEW explode(array(a.mph)) t AS x",
    "SELECT mph FROM traffic LATERAL VIEW explode(array(mph)) traffic AS x",
    "SELECT a.ts FROM traffic [RANGE 1 SECOND SLIDE 1 MINUTE] a "
    "JOIN south [RANGE 1 SECOND SLIDE 1 MINUTE] b ON a.mph = b.mph",
    "SELECT a.ts FROM traffic [RANGE 1 DAY OFFSET 1 HOUR] a "
    "JOIN south [RANGE 1 DAY] b ON a.mph = b.mph",
    "SELECT count(*) AS n FROM traffic GROUP BY window(mph, '1 second')",
    "SELECT count(*) AS n FROM roads GROUP BY window(ts, '1 second')",
    "SELECT count(*) AS n FROM traffic GROUP BY date_trunc('minute', ts)",
    "SELECT mph FROM traffic t JOIN roads r ON t.mph = (SELECT max(id) FROM roads)",
    "SELECT count(*) AS n FROM traffic [RANGE 1 MINUTE] GROUP BY (SELECT 1)",
    "SELECT mph FROM traffic [RANGE 1 MINUTE] ORDER BY (SELECT max(id) FROM roads)",
    "SELECT mph FROM traffic WHERE mph IN (SELECT mph FROM south)",
    "SELECT mph FROM traffic WHERE mph IN (SELECT mph FROM south [RANGE 1 MINUTE])",
    "SELECT mph FROM traffic t WHERE NOT EXISTS (SELECT 1 FROM south s WHERE s.mph = t.mph)",
    "SELECT mph > (SELECT avg(mph) FROM south) AS fast FROM traffic",
    "SELECT mph FROM traffic WHERE mph = ANY (SELECT id FROM roads)",
    "SELECT mph FROM traffic WHERE (mph, kind) IN (SELECT id FROM roads)",
    "SELECT mph FROM traffic t WHERE mph > (SELECT max(id) FROM roads WHERE name = t.kind)",
    "SELECT count(*) AS n FROM traffic [PARTITION BY kind ROWS 3] "
    "WHERE mph IN (SELECT id FROM roads)",
]
UNKNOWN_COLUMN = [
    "SELECT nada FROM traffic",
    "SELECT mph FROM traffic WHERE nada > 1",
    "SELECT t.nada FROM traffic t",
    "SELECT u.mph FROM traffic t",
    "SELECT u.* FROM traffic t",
    "SELECT mph FROM traffic t JOIN roads r ON t.mph = r.nada",
    "SELECT count(nada) AS n FROM traffic [RANGE 1 MINUTE]",
    "SELECT count(*) AS n FROM traffic [RANGE 1 MINUTE] GROUP BY nada",
    "SELECT count(*) AS n FROM traffic [RANGE 1 MINUTE] HAVING nada > 1",
    "SELECT window_start FROM traffic",
    "SELECT max(window_start) AS m FROM traffic [RANGE 1 MINUTE]",
    "SELECT mph FROM traffic WHERE mph IN (SELECT nada FROM roads)",
    "SELECT mph FROM traffic WHERE name IN (SELECT name FROM roads)",
]
UNKNOWN_NAME = [
    "SELECT mph FROM nada",
    "SELECT count(*) AS n FROM nada [RANGE 1 MINUTE]",
    "SELECT mph FROM traffic JOIN nada ON true",
    "SELECT mph FROM traffic.nada",
    "SELECT mph FROM traffic WHERE mph IN (SELECT id FROM nada)",
    "SELECT mph FROM traffic WHERE mph > (SELECT max(id) FROM nada)",
]
CASES = {
    "NOT_YET": NOT_YET,
    "BAD_QUERY": BAD_QUERY,
    "UNKNOWN_COLUMN": UNKNOWN_COLUMN,
    "UNKNOWN_NAME": UNKNOWN_NAME,
}


@pytest.mark.parametrize(
    ("code", "select"), [(code, each) for code, selects in CASES.items() for each in selects]
)
def test_a_form_that_does_not_bind_is_refused_with_its_code(code: str, select: str) -> None:
    with pytest.raises(PenstockError) as refused:
        bind(select)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("key", "window"),
    [
        ("date_trunc('HOUR', ts)", "[RANGE 1 HOUR]"),
        ("date_format(ts, 'yyyy-MM-dd')", "[RANGE 1 "),
        ("to_date(ts)", "[RANGE 1 "),
        ("hour(ts)", "[RANGE 1 "),
    ],
)
def test_who_cuts_times_down_is_told_of_windows(key: str, window: str) -> None:
    with pytest.raises(PenstockError) as refused:
        bind(f"SELECT {key} AS k, count(*) AS n FROM traffic GROUP BY {key}")
    assert window in refused.value.hint
