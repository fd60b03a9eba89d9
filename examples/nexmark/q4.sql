-- For each category and day, the average of the bids that won their auctions: a join, a maximum
-- over it, and an average over that.
CREATE QUERY q4 AS
  WITH valid AS (
    SELECT a.id, a.category, b.price, b.date_time
    FROM auction [RANGE 1 DAY] AS a JOIN bid [RANGE 1 DAY] AS b
      ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires),
  won AS (
    SELECT window_start AS day, category, max(price) AS price
    FROM valid [RANGE 1 DAY] GROUP BY id, category)
  SELECT category, avg(price) AS average FROM won GROUP BY day, category;
