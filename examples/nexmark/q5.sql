-- Hot items: in windows of 10 seconds, every 2 seconds, the auctions with the most bids.
CREATE QUERY q5 AS
  SELECT auction, count(*) AS bids
  FROM bid [RANGE 10 SECONDS SLIDE 2 SECONDS] GROUP BY auction
  QUALIFY rank() OVER (PARTITION BY window_start ORDER BY bids DESC) = 1;
