-- Bids on some auctions.
CREATE QUERY q2 AS
  SELECT auction, price FROM bid WHERE auction IN (1007, 1020, 2001, 2019, 2087);
