-- The queries of the documents (Table 5.3) over examples/hypergrid/field.py's readings:
--     python examples/hypergrid/field.py out/readings.parquet
--     penstock sql < examples/hypergrid/perspectives.sql
CREATE TABLE readings FROM files(path => 'out/readings.parquet', format => 'parquet');

CREATE BASE temperature FROM readings (ts, lat, lon, ambient_temperature);
CREATE BASE watermark FROM readings (ts, lat, lon, watermark);
CREATE BASE rain FROM readings (ts, lat, lon, rain_meter);
CREATE BASE sun FROM readings (ts, lat, lon, solar_radiation);

-- clean, align, interpolate in space
CREATE PERSPECTIVE temperature_clean FROM temperature
  AS convert(CASE WHEN value BETWEEN -40 AND 40 THEN value END);
CREATE PERSPECTIVE temperature_aligned FROM temperature_clean
  GRID (time INTERVAL 30 MINUTES) AS aggregate(avg);
CREATE PERSPECTIVE temperature_map FROM temperature_aligned
  GRID (lat 1/3600, lon 1/3600) AS interpolate(kriging(neighbours => 16));

CREATE PERSPECTIVE watermark_clean FROM watermark
  AS convert(CASE WHEN value BETWEEN 0 AND 200 THEN value END);
CREATE PERSPECTIVE watermark_aligned FROM watermark_clean
  GRID (time INTERVAL 30 MINUTES) AS aggregate(avg);
CREATE PERSPECTIVE watermark_map FROM watermark_aligned
  GRID (lat 1/3600, lon 1/3600) AS interpolate(kriging(neighbours => 16));

-- Q1: the mean of three days (example 5.3.1)
CREATE PERSPECTIVE q1 FROM temperature_map
  GRID (time INTERVAL 3 DAYS FROM '2007-10-01') AS aggregate(avg);
EXPLAIN SELECT * FROM q1 WITHIN (time FROM '2007-10-01' TO '2007-10-04',
  lat FROM 45 + 52/60 + 1/3600 TO 45 + 52/60 + 23/3600,
  lon FROM 7 + 10/60 + 37/3600 TO 7 + 10/60 + 59/3600);
SELECT count(*) AS cells, round(avg(value), 2) AS mean FROM q1
  WITHIN (time FROM '2007-10-01' TO '2007-10-04',
  lat FROM 45 + 52/60 + 1/3600 TO 45 + 52/60 + 23/3600,
  lon FROM 7 + 10/60 + 37/3600 TO 7 + 10/60 + 59/3600);

-- Q2: the same of the watermark
CREATE PERSPECTIVE q2 FROM watermark_map
  GRID (time INTERVAL 3 DAYS FROM '2007-10-01') AS aggregate(avg);
SELECT count(*) AS cells, round(avg(value), 2) AS mean FROM q2
  WITHIN (time FROM '2007-10-01' TO '2007-10-04',
  lat FROM 45 + 52/60 + 1/3600 TO 45 + 52/60 + 23/3600,
  lon FROM 7 + 10/60 + 37/3600 TO 7 + 10/60 + 59/3600);

-- Q3: twice the time
CREATE PERSPECTIVE q3 FROM temperature_map
  GRID (time INTERVAL 6 DAYS FROM '2007-10-01') AS aggregate(avg);
SELECT count(*) AS cells, round(avg(value), 2) AS mean FROM q3
  WITHIN (time FROM '2007-10-01' TO '2007-10-07',
  lat FROM 45 + 52/60 + 1/3600 TO 45 + 52/60 + 23/3600,
  lon FROM 7 + 10/60 + 37/3600 TO 7 + 10/60 + 59/3600);

-- Q4: latitude and longitude longer by the root of two
SELECT count(*) AS cells, round(avg(value), 2) AS mean FROM q1
  WITHIN (time FROM '2007-10-01' TO '2007-10-04',
  lat FROM 45 + 52/60 + 1/3600 TO 45 + 52/60 + 33/3600,
  lon FROM 7 + 10/60 + 37/3600 TO 7 + 11/60 + 9/3600);

-- Q5: 15 minutes' mean every 5 minutes (example 5.9.1); six hours of it
CREATE PERSPECTIVE temperature_by_5_minutes FROM temperature_clean
  GRID (time INTERVAL 5 MINUTES) AS aggregate(avg);
CREATE PERSPECTIVE map_by_5_minutes FROM temperature_by_5_minutes
  GRID (lat 1/3600, lon 1/3600) AS interpolate(kriging(neighbours => 16));
CREATE PERSPECTIVE q5 FROM map_by_5_minutes
  GRID (time INTERVAL 5 MINUTES SIZE INTERVAL 15 MINUTES) AS aggregate(avg);
SELECT time, count(*) AS cells, round(avg(value), 2) AS mean FROM q5
  WITHIN (time FROM '2007-10-01' TO '2007-10-01 06:00',
  lat FROM 45 + 52/60 + 1/3600 TO 45 + 52/60 + 23/3600,
  lon FROM 7 + 10/60 + 37/3600 TO 7 + 10/60 + 59/3600)
  GROUP BY time ORDER BY time LIMIT 5;

-- Example 5.3.2: rain and sun by the hour, and how they go together
CREATE PERSPECTIVE rain_clean FROM rain AS convert(CASE WHEN value BETWEEN 0 AND 50 THEN value END);
CREATE PERSPECTIVE sun_clean FROM sun AS convert(CASE WHEN value BETWEEN 0 AND 1500 THEN value END);
CREATE PERSPECTIVE rain_hourly FROM rain_clean
  GRID (time INTERVAL 1 HOUR, lat 1/60, lon 1/60) AS aggregate(avg);
CREATE PERSPECTIVE sun_hourly FROM sun_clean
  GRID (time INTERVAL 1 HOUR, lat 1/60, lon 1/60) AS aggregate(avg);
SELECT round(corr(r.value, s.value), 2) AS rain_and_sun_at_noon
  FROM rain_hourly WITHIN (time FROM '2007-09-20' TO '2007-10-18') AS r
  JOIN sun_hourly WITHIN (time FROM '2007-09-20' TO '2007-10-18') AS s
    ON r.time = s.time AND r.lat = s.lat AND r.lon = s.lon
  WHERE hour(r.time) = 12;

-- An hour of the day, over all days: cells of 45 scattered blocks
CREATE PERSPECTIVE daily_course FROM sun_clean
  GRID (time INTERVAL 1 HOUR EVERY INTERVAL 1 DAY, lat 1/60, lon 1/60) AS aggregate(avg);
SELECT hour(time) AS hour, round(avg(value)) AS watts FROM daily_course
  GROUP BY time ORDER BY time;
