-- The highest bids of every 10 seconds; one at the very end of a window counts in both.
CREATE QUERY q7 AS
  WITH highest AS (SELECT window_end, max(price) AS price FROM bid [RANGE 10 SECONDS])
  SELECT b.auction, b.price, b.bidder, b.date_time
  FROM bid [RANGE 10 SECONDS] AS b JOIN highest [RANGE 10 SECONDS] AS h
    ON b.price = h.price
    AND b.date_time BETWEEN h.window_end - INTERVAL 10 SECONDS AND h.window_end;
