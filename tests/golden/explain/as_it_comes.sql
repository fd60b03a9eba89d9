-- A stream that is delivered as it comes needs no unit.
CREATE QUERY everything AS SELECT * FROM traffic;
