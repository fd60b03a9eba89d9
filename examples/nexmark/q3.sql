-- Who sells things of one category in three states. An auction meets its seller for a day.
CREATE QUERY q3 AS
  SELECT p.name, p.city, p.state, a.id
  FROM auction [RANGE 1 DAY] AS a JOIN person [RANGE 1 DAY] AS p ON a.seller = p.id
  WHERE a.category = 10 AND p.state IN ('or', 'id', 'ca');
