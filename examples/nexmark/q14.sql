-- Bids in euros within bounds, with the time of day and how often 'c' stands in the extra text.
CREATE QUERY q14 AS
  SELECT auction, bidder, 0.908 * price AS price,
         CASE WHEN hour(date_time) BETWEEN 8 AND 18 THEN 'dayTime'
              WHEN hour(date_time) <= 6 OR hour(date_time) >= 20 THEN 'nightTime'
              ELSE 'otherTime' END AS time_of_day,
         date_time, length(extra) - length(replace(extra, 'c', '')) AS c_counts
  FROM bid
  WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;
