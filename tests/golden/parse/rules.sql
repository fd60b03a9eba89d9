CREATE RULE hot ON warm DO STOP QUERY warm;
CREATE RULE evacuate COUPLING immediate CONTEXT chronicle PRIORITY 9
  ON smoke_then_hot WHEN temp > 60 AND room IN (SELECT room FROM rooms)
  DO webhook(url => 'http://localhost/alarm'), INSERT INTO alarms SELECT room, temp * 2 AS twice;
create or replace rule `two words`, priority 0, coupling deferred, on s when not a or b = 1
  do insert into t (x, y) select a, call, raise up(a, concat('x', b)), call page_me,
     resume query q, start query q, alter rule hot disable,
     command(program => '/bin/logger', args => array('-t', a))
  with (timeout => interval 2 seconds, rate => 5, retries => 0, queue => 7);
CREATE RULE IF NOT EXISTS modes CONTEXT recent-unique ON e DO CALL f;
ALTER RULE hot ENABLE; alter rule hot disable; RETRY RULE hot; DROP RULE IF EXISTS hot;
SHOW RULES; DESCRIBE RULE hot; DESCRIBE hot;
ALTER QUERY hot SET (max_latency => INTERVAL 2 SECONDS, weight => 3);
alter query `hot` set (priority => 9, max_latency => null, max_error => 0.0);
CREATE RULE calm ON e DO ALTER QUERY q SET (weight => 0.5), CALL f, ALTER QUERY q SET (priority => 0), ALTER RULE r ENABLE;
