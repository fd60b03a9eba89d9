-- Ten seconds of traffic, made up as fast as it can be read; then it ends.
--   penstock run examples/quickstart.sql --until-idle
CREATE STREAM IF NOT EXISTS traffic (ts TIMESTAMP, car_id STRING, lane INT, mph DOUBLE)
  TIMESTAMP BY ts
  FROM generator(rate => 100, rows => 1000, paced => false,
                 start => TIMESTAMP '2026-01-01 08:00:00',
                 car_id => concat('car-', CAST(u1 * 400 AS INT)),
                 lane   => CAST(1 + u2 * 3 AS INT),
                 mph    => round(25 + u3 * 50, 1));

CREATE QUERY IF NOT EXISTS by_lane AS
  SELECT window_start, lane, count(*) AS cars, round(avg(mph), 1) AS mph
  FROM traffic [RANGE 5 SECONDS]
  GROUP BY lane;
