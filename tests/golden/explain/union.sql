-- Windows over two streams: one unit with two leaves. The window's end of a query is a third.
CREATE QUERY both AS SELECT ts, mph FROM traffic UNION ALL SELECT at, mph FROM south;
CREATE QUERY per_minute AS SELECT window_end, count(*) AS n FROM both [RANGE 1 MINUTE];
