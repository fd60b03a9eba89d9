-- What is done about it. Rows become events, events are combined, and a rule acts.

-- A road that is jammed in one window and still in the next.
CREATE EVENT lasting_jam AS
  SELECT b.road, b.cars FROM (jams a SEQ jams b)
  PARTITION BY road WITHIN INTERVAL 10 SECONDS;

-- What rules add to a stream can be asked like anything else.
CREATE STREAM calls (place STRING, cars BIGINT) FROM push();
CREATE QUERY called AS SELECT place, cars FROM calls;

CREATE RULE call_police PRIORITY 9 ON lasting_jam WHEN cars > $jam_cars
  DO INSERT INTO calls SELECT concat(road, ' road') AS place, cars
  WITH (rate => 100);
