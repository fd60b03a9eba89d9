-- Nexmark's three streams, from the small files beside this script.
CREATE STREAM person (
    id BIGINT, name STRING, email_address STRING, credit_card STRING, city STRING, state STRING,
    date_time TIMESTAMP, extra STRING)
  TIMESTAMP BY date_time SLACK INTERVAL 4 SECONDS
  FROM files(path => 'examples/nexmark/data/person', format => 'json', bounded => true);

CREATE STREAM auction (
    id BIGINT, item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT,
    date_time TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING)
  TIMESTAMP BY date_time SLACK INTERVAL 4 SECONDS
  FROM files(path => 'examples/nexmark/data/auction', format => 'json', bounded => true);

CREATE STREAM bid (
    auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING,
    date_time TIMESTAMP, extra STRING)
  TIMESTAMP BY date_time SLACK INTERVAL 4 SECONDS
  FROM files(path => 'examples/nexmark/data/bid', format => 'json', bounded => true);
