-- Traffic from JSON files, joined with a table of roads. From the directory above this one:
--   penstock run examples/traffic.sql --until-idle --format csv
-- `bounded => true` ends the stream with the files that are there; without it, files that appear
-- later are read as they come.
CREATE STREAM IF NOT EXISTS traffic (
    ts TIMESTAMP, car_id STRING, type STRING, road STRING, mph INT)
  TIMESTAMP BY ts  SLACK INTERVAL 5 SECONDS
  FROM files(path => 'examples/data/traffic', format => 'json', bounded => true);

CREATE TABLE IF NOT EXISTS roads FROM files(path => 'examples/data/roads.json', format => 'json');

-- Each tuple with what the table says of its road.
CREATE QUERY IF NOT EXISTS too_fast AS
  SELECT t.ts, t.car_id, r.name, t.mph, t.mph - r.limit AS over
  FROM traffic AS t JOIN roads AS r ON t.road = r.road
  WHERE t.mph > r.limit;

-- A row for each road and minute, when the minute is over.
CREATE QUERY IF NOT EXISTS by_minute AS
  SELECT window_start, road, count(*) AS vehicles,
         count(*) FILTER (WHERE type = 'truck') AS trucks, max(mph) AS fastest
  FROM traffic [RANGE 1 MINUTE]
  GROUP BY road;

-- A query over a query.
CREATE QUERY IF NOT EXISTS busy AS
  SELECT window_start, road, vehicles FROM by_minute WHERE vehicles > 10;
