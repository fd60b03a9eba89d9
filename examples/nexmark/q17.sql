-- Each auction's bids of a day in figures.
CREATE QUERY q17 AS
  SELECT auction, date_format(window_start, 'yyyy-MM-dd') AS day,
         count(*) AS total_bids,
         count(*) FILTER (WHERE price < 10000) AS low_bids,
         count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle_bids,
         count(*) FILTER (WHERE price >= 1000000) AS high_bids,
         min(price) AS min_price, max(price) AS max_price,
         avg(price) AS avg_price, sum(price) AS sum_price
  FROM bid [RANGE 1 DAY] GROUP BY auction;
