-- Two queries over the same windows, and one over the first of them.
CREATE QUERY counts AS SELECT kind, window_start, count(*) AS n FROM traffic [RANGE 10 SECONDS] GROUP BY kind;
CREATE QUERY ends AS SELECT t.kind, window_end AS till, count(*) AS n FROM traffic [RANGE 10 SECONDS] AS t GROUP BY t.kind;
CREATE QUERY minutes AS SELECT window_start, sum(n) AS n FROM counts [RANGE 1 MINUTE];
