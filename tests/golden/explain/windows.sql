-- Panes on arrival, windows at a close; what stands above the aggregate runs then.
CREATE QUERY per_kind AS
  SELECT kind, window_start, count(*) AS n, avg(mph) AS mean, max(mph) - min(mph) AS spread
  FROM traffic [RANGE 1 MINUTE SLIDE 10 SECONDS]
  WHERE mph > 0 GROUP BY kind HAVING n > 2;
