-- The same filter, written differently, is one node and a unit of its own.
CREATE QUERY cars AS SELECT car_id FROM traffic WHERE kind = 'car' AND mph > 3;
CREATE QUERY speeds AS SELECT mph AS speed FROM Traffic t WHERE (t.MPH > 3) AND t.kind = 'car';
CREATE QUERY others AS SELECT mph FROM traffic WHERE kind = 'bus';
