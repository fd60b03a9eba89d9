-- A bundle, a unit over one of its members, one stream as it comes, a shared filter, a union.
CREATE QUERY fast AS SELECT kind, window_start, count(*) AS n FROM traffic [RANGE 10 SECONDS] WHERE mph > 80 GROUP BY kind HAVING n > 100;
CREATE QUERY faster AS SELECT kind, window_start, count(*) AS n FROM traffic [RANGE 10 SECONDS] WHERE mph > 100 GROUP BY kind HAVING n > 20;
CREATE QUERY fast_ones AS SELECT window_start, sum(n) AS n FROM fast [RANGE 1 MINUTE];
CREATE QUERY everything AS SELECT * FROM sensors;
CREATE QUERY few AS SELECT car_id, mph FROM sensors WHERE mph < 10;
CREATE QUERY fewer AS SELECT car_id FROM sensors WHERE mph < 10;
CREATE QUERY `both "of" \them` AS SELECT car_id, mph FROM few UNION ALL SELECT id, mph FROM south;
