-- People who opened an auction in the 10 seconds in which they came.
CREATE QUERY q8 AS
  SELECT DISTINCT p.id, p.name, window_start
  FROM person [RANGE 10 SECONDS SLIDE 10 SECONDS] AS p
  JOIN auction [RANGE 10 SECONDS SLIDE 10 SECONDS] AS a ON p.id = a.seller;
