CREATE TABLE roads FROM files(path => 'roads.parquet', format => 'parquet');
CREATE TABLE IF NOT EXISTS roads (id BIGINT, name STRING) FROM files(path => 'roads.csv');
CREATE OR REPLACE TABLE roads FROM files(path => 'roads.json');
