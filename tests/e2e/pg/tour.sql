\pset footer off
CREATE STREAM trips (ts TIMESTAMP, car STRING, mph INT, xs ARRAY<BIGINT>, d DECIMAL(10,2), s STRUCT<a: BIGINT, b: STRING>) TIMESTAMP BY ts FROM push();
CREATE QUERY quick AS SELECT ts, car, mph FROM trips WHERE mph > 60;
\d
\d trips
\d quick
SELECT stream, state, rows FROM system.streams;
SELECT car FROM quick;
SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_name = 'quick';
SELECT nope FROM trips;
SELEC 1;
CREATE QUERY quick AS SELECT 1;
DROP STREAM trips;
COPY (SELECT 1 AS n, 'a,b' AS t, NULL AS x) TO STDOUT WITH (FORMAT csv, HEADER);
BEGIN;
SELECT * FROM nothing;
SELECT 1 AS one;
ROLLBACK;
STOP QUERY quick;
SELECT query, state FROM system.queries;
RESUME QUERY quick;
SHOW server_version;
