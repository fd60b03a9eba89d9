CREATE STREAM plain (a INT) FROM push();

-- The clauses stand in any order.
CREATE STREAM IF NOT EXISTS traffic (ts TIMESTAMP, car_id STRING)
  FROM files(path => 'in', format => 'csv')
  SLACK ADAPTIVE
  TIMESTAMP BY TS;

create or replace stream `left turns` (`the time` timestamp, `from` string)
  timestamp by `the time`
  valid for interval '1' hour
  slack interval '1.5 seconds'
  from replay(path => 'x');

CREATE STREAM types (
  a BOOLEAN, b BYTE, c TINYINT, d SHORT, e SMALLINT, f INT, g INTEGER, h LONG, i BIGINT,
  j REAL, k FLOAT, l DOUBLE, m DECIMAL, n DEC(5), o NUMERIC(10, 2), p STRING, q CHAR(3),
  r CHARACTER(4), s VARCHAR(20), t BINARY, u DATE, v TIMESTAMP, w TIMESTAMP_LTZ,
  x TIMESTAMP_NTZ, y VARIANT, z VOID, aa INTERVAL, ab INTERVAL DAY TO SECOND, ac INTERVAL YEAR,
  ad ARRAY<STRING>, ae MAP<STRING, ARRAY<INT>>, af STRUCT<x: INT, Y STRING>, ag STRUCT<>,
  ah ARRAY<STRUCT<`a b`: MAP<STRING, DECIMAL(3, 1)>>>, ai TIME, aj TIME(3)
) FROM push();

-- Words of the language that are also names.
CREATE STREAM stream (timestamp TIMESTAMP, date DATE, type STRING, range INT, rows INT, end INT,
  order STRING, session STRING, slack INT, double DOUBLE)
  TIMESTAMP BY timestamp FROM push();

CREATE STREAM kept (ts TIMESTAMP) ARCHIVE FOR INTERVAL 7 DAYS IDLE AFTER INTERVAL 30 SECONDS
  TIMESTAMP BY ts FROM push();
CREATE STREAM kept_too (ts TIMESTAMP) FROM push() IDLE AFTER INTERVAL '1 minute 30 seconds'
  SLACK ADAPTIVE ARCHIVE FOR INTERVAL 12 HOURS VALID FOR INTERVAL 1 DAY;
CREATE STREAM idle (archive INT, idle INT) FROM push();
CREATE STREAM worthy (ts TIMESTAMP, price DOUBLE) SHED BY price * 2 TIMESTAMP BY ts FROM push();
CREATE STREAM ordered (epoch BIGINT, v INT) ORDERED BY EPOCH RATE 2.5 SCRAMBLED 50 DUPLICATES 2
  FROM push();
CREATE STREAM grows (`on` DATE, ordered INT) FROM push() ORDERED BY `on`;

CREATE STREAM stamped (n INT) TIMESTAMP BY ARRIVAL FROM push();
CREATE STREAM stamped_too OF radio FROM push() TIMESTAMP BY arrival;
CREATE STREAM its_own (arrival TIMESTAMP, n INT) TIMESTAMP BY ARRIVAL FROM push();

CREATE STREAM by_two (n BIGINT, m BIGINT) ORDERED BY n SCRAMBLED 3, m DUPLICATES 2 FROM push();
