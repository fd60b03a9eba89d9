-- Three antennas, windows of 1,024 samples, and their spectra. From the checkout:
--   python examples/radio/signals.py examples/radio/data
--   penstock run examples/radio/radio.sql --until-idle --format json
CREATE STREAM TYPE IF NOT EXISTS timed (ts TIMESTAMP);
CREATE STREAM TYPE IF NOT EXISTS radio
  (x COMPLEX VECTOR, y COMPLEX VECTOR, z COMPLEX VECTOR) UNDER timed;

CREATE STREAM IF NOT EXISTS radio OF radio
  TIMESTAMP BY ts
  FROM files(path => 'examples/radio/data', format => 'parquet', bounded => true,
             files_per_train => 1);

-- How it is spread over the machine is found out while it runs: EXPLAIN spectrum.
CREATE QUERY IF NOT EXISTS spectrum AS FLOW auto(fft3) OVER radio;

-- Only windows with a strong line: what a telescope would keep.
CREATE QUERY IF NOT EXISTS strong AS
  SELECT ts FROM xmagn(radio, 700);
