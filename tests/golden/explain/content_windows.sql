CREATE QUERY steps AS SELECT ts, car_id, adiff(mph) OVER (PARTITION BY car_id) AS d FROM traffic WHERE mph > 0;
CREATE QUERY visits AS SELECT window_start, car_id, count(*) AS n FROM traffic [SESSION GAP 30 SECONDS] GROUP BY car_id;
CREATE QUERY middles AS SELECT car_id, median(mph) AS m FROM traffic [SESSION GAP 30 SECONDS] GROUP BY car_id;
CREATE QUERY lasts AS SELECT car_id, avg(mph) AS m FROM traffic [PARTITION BY car_id ROWS 10 SLIDE 5] WHERE mph > 0 GROUP BY car_id;
CREATE QUERY jams AS SELECT window_end, sum(mph) AS s FROM traffic [WHEN count(*) >= 100 OR max(mph) - min(mph) > 50];
