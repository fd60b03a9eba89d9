CREATE STREAM traffic (ts TIMESTAMP, car_id STRING, type STRING, mph INT)
  TIMESTAMP BY ts  SLACK INTERVAL 2 SECONDS  VALID FOR INTERVAL 5 SECONDS
  FROM files(path => 'data/traffic', format => 'json');

CREATE TABLE roads FROM files(path => 'roads.parquet', format => 'parquet');

CREATE QUERY left_turns WITH (max_latency => INTERVAL 2 SECONDS, max_error => 0.05, weight => 10) AS
  SELECT r1.car_id, r1.mph
  FROM sensor2 [RANGE 2 MINUTES] AS r2, sensor1 [RANGE 2 MINUTES] AS r1
  WHERE r1.car_id = r2.car_id AND r1.type = 'Car'
  INTO files(path => 'out/left', format => 'json');

SELECT count(*) FROM traffic;                       -- one-time query over what the buffers and archive hold
STOP QUERY left_turns;  RESUME QUERY left_turns;  DROP QUERY left_turns;
SHOW STREAMS;  SHOW QUERIES;  DESCRIBE traffic;  EXPLAIN left_turns;
