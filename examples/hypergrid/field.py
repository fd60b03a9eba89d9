"""A field of sensors like SensorScope's at the Grand-St-Bernard: made, the same each time.

    python examples/hypergrid/field.py out/readings.parquet [--days 45] [--every 145]

Stations stand for a month and a half on 700 × 700 metres. Nine measures; gaps, outliers (-999 and
spikes), and clocks that drift. Three days of rain dim the sun. The rows are made by numpy in one
go: station, ts, lat, lon and one column for each measure.
"""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

BEGIN = 1_188_950_400  # 2007-09-05 00:00, in seconds
DAY = 86_400
SOUTH, WEST = 45 + 52 / 60 + 1 / 3600, 7 + 10 / 60 + 37 / 3600
SIDE = 22 / 3600  # degrees
LOST, SILENT, SPIKES = 0.03, 0.004, 0.001  # shares of the readings
OUT_OF_ORDER = 0.7  # days, of each station once
STATIONS = 23
RAIN = ((18, 1.5), (27, 2.0), (35, 1.0))  # day of the event, and how many days it lasts
MEASURES = (
    "ambient_temperature",
    "surface_temperature",
    "humidity",
    "solar_radiation",
    "soil_moisture",
    "watermark",
    "rain_meter",
    "wind_speed",
    "wind_direction",
)


def field(days: float = 45, every: int = 145, seed: int = 2007) -> pa.Table:
    """Return the readings of so many days, one each `every` seconds and station."""
    rng = np.random.default_rng(seed)
    places = rng.random((STATIONS, 2)) * SIDE
    moments = np.arange(0, int(days * DAY), every)
    station, moment = np.meshgrid(np.arange(STATIONS), moments, indexing="ij")
    station, moment = station.ravel(), moment.ravel().astype(float)
    kept = rng.random(len(moment)) > LOST
    for each, begin in zip(range(STATIONS), rng.random(STATIONS) * days, strict=True):
        out = (station == each) & (moment > begin * DAY) & (moment < (begin + OUT_OF_ORDER) * DAY)
        kept &= ~out  # each is out of order for most of a day
    station, moment = station[kept], moment[kept]
    columns = _measures(rng, station, moment, places)
    drift = rng.normal(0, 2e-5, STATIONS)[station] * moment  # some seconds a day
    time = np.round((BEGIN + moment + drift) * 1e6).astype(np.int64)
    order = np.lexsort((station, time))
    named = {
        "station": pa.array(station[order].astype(np.int32)),
        "ts": pa.array(time[order]).cast(pa.timestamp("us", "UTC")),
        "lat": pa.array(SOUTH + places[station, 0][order]),
        "lon": pa.array(WEST + places[station, 1][order]),
    }
    return pa.table(named | {name: pa.array(columns[name][order]) for name in MEASURES})


def _measures(
    rng: np.random.Generator, station: np.ndarray, moment: np.ndarray, places: np.ndarray
) -> dict[str, np.ndarray]:
    count, day = len(moment), moment / DAY
    north, east = places[station].T / SIDE
    hour = day % 1 * 24
    wet = np.zeros(count)
    for begin, length in RAIN:
        wet = np.maximum(wet, np.exp(-(((day - begin - length / 2) / (length / 2)) ** 4)))
    sun = np.clip(np.sin((hour - 6) / 12 * np.pi), 0, None) * 800 * (1 - 0.85 * wet)
    warm = 8 - day / 6 + 5 * np.sin((hour - 9) / 12 * np.pi) - 4 * wet - 2.5 * north
    noise = rng.normal(size=(len(MEASURES), count))
    columns = {
        "ambient_temperature": warm + 0.8 * np.sin(4 * east) + 0.3 * noise[0],
        "surface_temperature": warm + sun / 120 + 0.5 * noise[1],
        "humidity": np.clip(60 + 30 * wet - 10 * east + 3 * noise[2], 5, 100),
        "solar_radiation": np.clip(sun * (1 + 0.05 * noise[3]), 0, None),
        "soil_moisture": 0.2 + 0.15 * wet + 0.05 * east + 0.01 * noise[4],
        "watermark": 40 - 20 * wet + 8 * north * east + noise[5],
        "rain_meter": np.clip(wet * (2 + noise[6]), 0, None),
        "wind_speed": np.abs(4 + 3 * wet + 1.5 * noise[7]),
        "wind_direction": (200 + 40 * np.sin(day) + 15 * noise[8]) % 360,
    }
    for values in columns.values():
        values[rng.random(count) < SILENT] = -999.0  # a sensor that does not answer
        spikes = rng.random(count) < SPIKES
        values[spikes] += rng.choice((-400.0, 400.0), spikes.sum())
    return columns


def main() -> None:
    """Write the field as a Parquet file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--days", type=float, default=45)
    parser.add_argument("--every", type=int, default=145, help="seconds between readings")
    given = parser.parse_args()
    given.path.parent.mkdir(parents=True, exist_ok=True)
    table = field(given.days, given.every)
    pq.write_table(table, given.path)
    print(f"{table.num_rows:,} readings of {len(MEASURES)} measures in {given.path}")


if __name__ == "__main__":
    main()
