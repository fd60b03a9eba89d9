-- What happens: readings from a house and cars on a street. `penstock demo` fills in the names
-- that begin with a dollar sign.
CREATE TABLE rooms FROM files(path => '$rooms', format => 'csv');

-- One reading a tuple. Heat comes and goes in waves; now and then something draws much power.
CREATE STREAM house (ts TIMESTAMP, room_id INT, celsius DOUBLE, watts DOUBLE)
  TIMESTAMP BY ts  SLACK INTERVAL 1 SECOND
  FROM generator(
    rate => $house_rate, profile => 'poisson', seed => 7, disorder => INTERVAL 500 MILLISECONDS,
    room_id => CAST(1 + u1 * 6 AS INT),
    celsius => round((200 - 9 * floor(u1 * 6)) / 10 + abs(pmod(n + 1200, 2400) - 1200) / 250 + 2 * u2, 1),
    watts   => round(CASE WHEN u3 > 0.98 THEN 1800 + 1200 * u4 ELSE 60 + 140 * u4 END));

-- One car a tuple; the rush comes all at once.
CREATE STREAM cars (ts TIMESTAMP, road STRING, mph DOUBLE)
  TIMESTAMP BY ts  SLACK INTERVAL 1 SECOND
  FROM generator(
    rate => $cars_rate, profile => 'burst', burst_rate => $rush_rate,
    burst_every => INTERVAL $rush_every SECONDS, burst_length => INTERVAL $rush_length SECONDS,
    seed => 11,
    road => element_at(array('north', 'east', 'south', 'west'), CAST(1 + u1 * 4 AS INT)),
    mph  => round(20 + 45 * u2 + 35 * u3 * u3 * u3 * u3, 1));
