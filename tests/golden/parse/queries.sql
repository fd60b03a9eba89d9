CREATE QUERY plain AS SELECT * FROM traffic;
CREATE CONTINUOUS QUERY IF NOT EXISTS continuous AS SELECT * FROM traffic;
CREATE OR REPLACE QUERY goals WITH (MAX_LATENCY => INTERVAL '500 milliseconds') AS SELECT 1 AS a;
CREATE OR REPLACE CONTINUOUS QUERY weighty WITH (weight => 2.5, max_error => 0) AS SELECT 1 AS a;
CREATE QUERY first_thousand AS SELECT a FROM s STOP AFTER 1000 TUPLES;
CREATE QUERY two_hours AS SELECT a FROM s WHERE a > 3 STOP AFTER INTERVAL 2 HOURS;
CREATE QUERY one AS SELECT a FROM s [ROWS 3] GROUP BY a STOP AFTER 1 TUPLE INTO console();
CREATE QUERY other_order AS SELECT a FROM s INTO console() STOP AFTER INTERVAL 1 DAY;
CREATE QUERY with_parts AS
  WITH fast AS (SELECT * FROM traffic WHERE mph > 60) /* inside */ SELECT car_id FROM fast INTO push();
CREATE QUERY both AS SELECT a FROM s UNION ALL SELECT a FROM t;
-- STOP, AFTER and INTO may be names too.
CREATE QUERY names AS SELECT stop after, s.into, x AS into FROM s;
CREATE QUERY late AS SELECT * FROM left_turns.late JOIN traffic.rejects ON TRUE;
-- What windows emit, among the other clauses in any order.
CREATE QUERY early AS SELECT count(*) AS n FROM s [RANGE 1 HOUR] EMIT EARLY EVERY INTERVAL 10 SECONDS;
CREATE QUERY lenient AS SELECT count(*) AS n FROM s [RANGE 1 HOUR] ALLOWED LATENESS INTERVAL 1 MINUTE;
CREATE QUERY both_ways AS SELECT count(*) AS n FROM s [RANGE 1 HOUR]
  ALLOWED LATENESS INTERVAL 1 MINUTE INTO console() EMIT EARLY EVERY INTERVAL 10 SECONDS
  STOP AFTER INTERVAL 1 DAY;
CREATE QUERY more_names AS SELECT emit early, allowed lateness FROM s AS emit;
CREATE QUERY reusing WITH (join => 'reuse', weight => 2) AS
  SELECT * FROM a [RANGE 1 HOUR SLIDE 1 MINUTE] JOIN b [RANGE 1 HOUR SLIDE 1 MINUTE] USING (k);
CREATE QUERY recomputing WITH (JOIN => 'RECOMPUTE') AS SELECT 1 AS a;
CREATE QUERY with_windows AS
  WITH a AS (SELECT ts, mph FROM traffic) SELECT count(*) AS n FROM a [RANGE 1 MINUTE] INTO push();
-- Modifiers.
CREATE QUERY differences AS SELECT car_id, adiff(mph) OVER (PARTITION BY car_id) AS d FROM traffic;
CREATE QUERY relative AS SELECT 100 * rdiff(price, pseudo => 0.001) + 1 AS r FROM ticks;
CREATE QUERY slopes AS
  SELECT ASLOPE(y, x, profile => 'O') OVER (PARTITION BY a, b % 2) AS s FROM points
  WHERE abs(aslope(y, x, pseudo => -1, PROFILE => 'n')) > 3;
-- What is worth least goes first; who has no room waits or is forced in.
CREATE QUERY shedding WITH (max_error => 0.1) AS SELECT a FROM s SHED BY abs(a - 3) * 2 INTO console() STOP AFTER INTERVAL 1 DAY;
CREATE QUERY shed_names AS SELECT shed by FROM s;
CREATE QUERY patient WITH (max_latency => INTERVAL 1 SECOND) OR WAIT AS SELECT a FROM s;
CREATE QUERY forced FORCE AS SELECT a FROM s;
