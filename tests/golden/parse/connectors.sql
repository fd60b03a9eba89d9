CREATE STREAM options (a INT) FROM Generator(
  text => 'it''s \'so\'', Twice => "x", whole => 12, MINUS => -3, half => 0.5, minus_half => -.5,
  large => 1e3, yes => TRUE, no => false, pause => INTERVAL 2 SECONDS,
  long_pause => INTERVAL 1 HOUR 30 MINUTES, past => INTERVAL -1 DAY,
  start => TIMESTAMP '2026-01-31 12:00:00', nothing => NULL,
  car_id => concat('car', n % 50), mph => CASE WHEN n > 3 THEN 30 ELSE floor(rand(7) * 60) END,
  kafka.bootstrap.servers => 'localhost:9092', `odd name` => 1, from => 1, select => 2, format => 3,
  shifted => INTERVAL 1 DAY + pause, tags => array(1, 2)[0]
);
CREATE STREAM nothing (a INT) FROM push();
