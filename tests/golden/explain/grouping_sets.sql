CREATE QUERY rolled AS
  SELECT window_start, kind, grouping(kind) AS all_kinds, count(*) AS n, median(mph) AS middle
  FROM traffic [RANGE 1 MINUTE] GROUP BY ROLLUP (kind);
CREATE QUERY sessions AS
  SELECT kind, car_id, grouping_id() AS id, sum(mph) AS total
  FROM traffic [SESSION GAP 1 MINUTE] GROUP BY kind, CUBE (car_id);
