CREATE QUERY limited AS
  SELECT mph FROM traffic t WHERE kind = 'x' AND mph IN (SELECT id FROM roads WHERE name > t.kind);
CREATE QUERY free AS
  SELECT mph FROM traffic WHERE mph NOT IN (SELECT mph FROM roads);
CREATE QUERY fast AS
  SELECT mph - (SELECT max(mph) FROM roads) AS more FROM traffic
  WHERE kind = 'x' OR mph > (SELECT avg(mph) FROM roads);
