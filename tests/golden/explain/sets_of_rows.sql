CREATE QUERY both_ways AS SELECT ts, mph FROM traffic UNION SELECT at, mph FROM south;
CREATE QUERY one_way AS SELECT ts, mph FROM traffic EXCEPT SELECT at, mph FROM south;
