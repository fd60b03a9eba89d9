-- Many filters that make the same of their tuples run as one bundle.
CREATE QUERY a AS SELECT car_id, mph + 1 AS more FROM traffic WHERE mph > 10 AND mph + 1 > 0;
CREATE QUERY b AS SELECT car_id, mph + 1 AS more FROM traffic WHERE mph > 20;
CREATE QUERY c AS SELECT car_id, mph + 1 AS more FROM traffic WHERE mph < 5 AND kind = 'x';
CREATE QUERY d AS SELECT car_id, mph + 1 AS more FROM traffic WHERE mph BETWEEN 3 AND 4;
CREATE QUERY e AS SELECT car_id FROM traffic WHERE mph > 1;
CREATE QUERY f AS SELECT car_id FROM traffic WHERE mph > 2;
CREATE QUERY g AS SELECT car_id FROM traffic WHERE mph > 3;
CREATE QUERY h AS SELECT car_id FROM traffic WHERE mph > 4;
