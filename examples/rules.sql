-- Tanks that fill and are emptied: rules over queries and events. From the directory above this one:
--   penstock run examples/rules.sql --until-idle --format json
CREATE STREAM IF NOT EXISTS levels (ts TIMESTAMP, tank STRING, level INT)
  TIMESTAMP BY ts
  FROM generator(rate => 1, rows => 240, paced => false,
                 start => TIMESTAMP '2026-01-01 08:00:00',
                 tank => if(n % 2 = 0, 'north', 'south'),
                 level => CAST(50 + 50 * sin(n / 20.0) AS INT));

-- What rules add to; nothing else does, so these end when all others have.
CREATE STREAM IF NOT EXISTS valves (ts TIMESTAMP, tank STRING, what STRING)
  TIMESTAMP BY ts  SLACK INTERVAL 10 MINUTES  FROM push();
CREATE STREAM IF NOT EXISTS notes (ts TIMESTAMP, note STRING) TIMESTAMP BY ts FROM push();
CREATE QUERY IF NOT EXISTS valve_log AS SELECT ts, tank, what FROM valves;
CREATE QUERY IF NOT EXISTS noted AS SELECT ts, note FROM notes;

-- A tank is full, or empty, at the first reading that says so after the other.
CREATE EVENT IF NOT EXISTS high AS SELECT tank, level MASK level > 95 FROM levels;
CREATE EVENT IF NOT EXISTS low AS SELECT tank, level MASK level < 5 FROM levels;
CREATE EVENT IF NOT EXISTS ran_empty AS
  SELECT l.tank, l.level FROM (high h SEQ low l) PARTITION BY tank WITHIN INTERVAL 1 HOUR;

-- Before anybody is told of the reading, the valve is opened; the event time is the reading's.
CREATE RULE IF NOT EXISTS open_valve COUPLING immediate PRIORITY 9 ON high WHEN level > 97
  DO INSERT INTO valves SELECT tank, 'open' AS what;

-- Each full reading is used once: the first that the tank then runs empty after.
CREATE RULE IF NOT EXISTS close_valve CONTEXT recent_unique ON ran_empty
  DO INSERT INTO valves SELECT tank, 'close' AS what;

-- A rule on a query over what rules have added: a cascade.
CREATE RULE IF NOT EXISTS note ON valve_log WHEN what = 'open'
  DO RAISE notes(concat('the valve of ', tank, ' was opened'));
