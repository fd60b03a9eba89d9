-- Smoke, then heat in the same room: events over two streams. From the directory above this one:
--   penstock run examples/smoke.sql --until-idle --format csv
CREATE STREAM IF NOT EXISTS room_temps (ts TIMESTAMP, room STRING, temp INT)
  TIMESTAMP BY ts
  FROM generator(rate => 1, rows => 240, paced => false,
                 start => TIMESTAMP '2026-01-01 08:00:00',
                 room => if(n % 2 = 0, 'attic', 'cellar'),
                 temp => if(n % 60 > 40, 45 + n % 7, 20));

CREATE STREAM IF NOT EXISTS smoke_alarms (ts TIMESTAMP, room STRING, level INT)
  TIMESTAMP BY ts
  FROM generator(rate => 0.1, rows => 24, paced => false,
                 start => TIMESTAMP '2026-01-01 08:00:00',
                 room => 'attic', level => n % 4);

-- Rows become events where a mask lets them through.
CREATE EVENT IF NOT EXISTS hot AS SELECT room, temp MASK temp > 40 FROM room_temps;
CREATE EVENT IF NOT EXISTS smoke AS SELECT room, level MASK level > 0 FROM smoke_alarms;

-- Events become events: one after the other, in the same room, within half a minute.
CREATE EVENT IF NOT EXISTS smoke_then_hot AS
  SELECT h.room, s.level, h.temp FROM (smoke s SEQ hot h)
  WHERE s.room = h.room
  WITHIN INTERVAL 30 SECONDS;

-- Smoke twice without heat in between.
CREATE EVENT IF NOT EXISTS only_smoke AS
  SELECT s.room, s.level FROM NOT(hot h)[smoke s, smoke again]
  PARTITION BY room WITHIN INTERVAL 30 SECONDS;

-- Queries read events as streams, in the consumption mode that they name.
CREATE QUERY IF NOT EXISTS fires AS
  SELECT room, level, temp, _end AS at FROM smoke_then_hot [CONTEXT chronicle];

CREATE QUERY IF NOT EXISTS false_alarms AS SELECT room, level, _end AS at FROM only_smoke;

CREATE QUERY IF NOT EXISTS by_minute AS
  SELECT window_start, count(*) AS fires FROM smoke_then_hot [CONTEXT continuous] [RANGE 1 MINUTE];
