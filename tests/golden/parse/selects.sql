SELECT DISTINCT a, count(*) AS n FROM s WHERE b LIKE 'x%' GROUP BY a HAVING count(*) > 1 ORDER BY n DESC LIMIT 3 OFFSET 1;
(SELECT 1 AS a) UNION ALL (SELECT 2) ;
SELECT a FROM s EXCEPT SELECT a FROM t;
SELECT /*+ BROADCAST(t) */ * EXCEPT (a) FROM s JOIN t USING (k);
SELECT * FROM s LEFT ANTI JOIN t ON s.a = t.a WHERE EXISTS (SELECT 1 FROM u WHERE u.a = s.a);
SELECT a, row_number() OVER (PARTITION BY b ORDER BY c DESC) AS r FROM s QUALIFY r = 1;
SELECT sum(a) FILTER (WHERE b) AS t, first(c IGNORE NULLS) AS f, percentile_cont(0.5) WITHIN GROUP (ORDER BY d) AS p FROM s;
SELECT a FROM VALUES (1, 'x'), (2, 'y') AS v(a, b);
SELECT * FROM s PIVOT (sum(x) FOR y IN ('a' AS a, 'b' AS b));
SELECT a FROM s TABLESAMPLE (10 PERCENT) AS x GROUP BY GROUPING SETS ((a), ());
-- Spark's functions are left as they are written.
SELECT to_char(x, '999'), parse_json(j), trunc(d, u), listagg(s), date_sub(d, 1), size(xs), nvl(a, b), dateadd(DAY, 1, d) FROM s;
SELECT transform(xs, (x, i) -> x + i), aggregate(xs, 0, (acc, x) -> acc + x), struct(a AS x).x, named_struct('a', 1) FROM s;
SELECT ts - INTERVAL 1 HOUR 30 MINUTES, DATE '2026-01-31', CAST(a AS DECIMAL(10, 2)), TRY_CAST(b AS INT), a::BIGINT, 1L, 1.5BD FROM s;
SELECT a & b << 2, a <=> b, NOT a, a || 'x', -a, a % 2, a DIV 2, current_timestamp, position('a' IN b) FROM s;
