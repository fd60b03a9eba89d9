-- What is asked. All of it runs as one plan: each stream is read once, whoever reads it.

-- A filter behind a join with a table.
CREATE QUERY hot_rooms AS
  SELECT h.ts, r.room, h.celsius, r.max_celsius
  FROM house AS h JOIN rooms AS r ON h.room_id = r.id
  WHERE h.celsius > r.max_celsius;

-- Windows that follow each other.
CREATE QUERY power AS
  SELECT window_end, r.room, round(avg(h.watts)) AS watts, max(h.watts) AS peak
  FROM house [RANGE 5 SECONDS] AS h JOIN rooms AS r ON h.room_id = r.id
  GROUP BY r.room;

-- A filter.
CREATE QUERY speeding AS
  SELECT ts, road, mph FROM cars WHERE mph > 95;

-- Windows that overlap.
CREATE QUERY flow AS
  SELECT window_end, road, count(*) AS cars, round(avg(mph), 1) AS mph
  FROM cars [RANGE 6 SECONDS SLIDE 2 SECONDS]
  GROUP BY road;

-- A query over a query.
CREATE QUERY jams AS
  SELECT window_end, road, cars FROM flow WHERE cars > $jam_cars;

-- Three queries in one.
CREATE QUERY alarms AS
  SELECT ts, 'hot' AS alarm, room AS place FROM hot_rooms
  UNION ALL SELECT ts, 'fast' AS alarm, road AS place FROM speeding
  UNION ALL SELECT window_end AS ts, 'jam' AS alarm, road AS place FROM jams;

-- A contract: what a car burns takes long to work out, so in the rush an answer may be a fifth off.
-- Past what can be done a gate keeps a part of the cars, and each row says how wrong it may be.
CREATE QUERY fuel WITH (max_error => 0.2) AS
  SELECT window_end, road, count(*) AS cars,
         round(sum(aggregate(sequence(1, $steps), mph, (v, i) -> v + sin(v) / i))) AS fuel
  FROM cars [RANGE 4 SECONDS]
  GROUP BY road;
