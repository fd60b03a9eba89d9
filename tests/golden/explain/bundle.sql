-- Queries that differ in thresholds, windows and what they make of them run as one bundle.
CREATE QUERY fast AS SELECT kind, window_start, count(*) AS n FROM traffic [RANGE 10 SECONDS] WHERE mph > 80 GROUP BY kind HAVING n > 100;
CREATE QUERY faster AS SELECT kind, window_start, count(*) AS n FROM traffic [RANGE 10 SECONDS] WHERE mph > 100 GROUP BY kind HAVING n > 20;
CREATE QUERY slow AS SELECT kind, window_start, max(mph) AS most FROM traffic [RANGE 1 MINUTE SLIDE 30 SECONDS] WHERE mph < 20 GROUP BY kind HAVING most <> 7;
CREATE QUERY fast_ones AS SELECT window_start, sum(n) AS n FROM fast [RANGE 1 MINUTE];
