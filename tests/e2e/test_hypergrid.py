"""Perspectives in SQL: rows in, cells out; the oracle is numpy and pandas over whole arrays."""

import math
import runpy
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pykrige.ok3d import OrdinaryKriging3D
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import PenstockError, UnknownNameError
from penstock.grid.functions.interpolation import on_sphere
from penstock.runtime.loop.supervisor import Settings
from penstock.runtime.work.run_limits import RunLimits
from tests.e2e.support import rows_of

pytestmark = pytest.mark.spark
EXAMPLES = Path(__file__).parents[2] / "examples" / "hypergrid"
SECOND = 1 / 3600
WHERE = (
    "lat FROM 45 + 52/60 + 1/3600 TO 45 + 52/60 + 9/3600, "
    "lon FROM 7 + 10/60 + 37/3600 TO 7 + 10/60 + 41/3600"
)
HALF_DAY = f"WITHIN (time FROM '2007-09-05' TO '2007-09-05 12:00', {WHERE})"
CHAIN = """
CREATE BASE raw FROM readings (ts, lat, lon, ambient_temperature);
CREATE PERSPECTIVE clean FROM raw
  AS convert(CASE WHEN value BETWEEN -40 AND 40 THEN value * 9 / 5 + 32 END);
CREATE PERSPECTIVE aligned FROM clean GRID (time INTERVAL 1 HOUR) AS aggregate(avg);
CREATE PERSPECTIVE field FROM aligned
  GRID (lat 1/3600, lon 1/3600) AS interpolate(kriging(neighbours => 12));
CREATE PERSPECTIVE q1 FROM field GRID (time INTERVAL 12 HOURS) AS aggregate(avg);
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("field") / "readings.parquet"
    made = runpy.run_path(str(EXAMPLES / "field.py"))["field"]
    table: pa.Table = made(days=1, every=900)
    pq.write_table(table, path)
    return path


@pytest.fixture(scope="module")
def readings(stored: Path) -> pd.DataFrame:
    frame: pd.DataFrame = pq.read_table(stored).to_pandas()
    return frame


@pytest.fixture
def chain(ps: Connection, stored: Path) -> Connection:
    ps.script(f"CREATE TABLE readings FROM files(path => '{stored}', format => 'parquet'); {CHAIN}")
    return ps


def aligned_by_pandas(readings: pd.DataFrame) -> pd.Series:
    """Return the hourly means of each station, in Fahrenheit."""
    clean = readings["ambient_temperature"].where(lambda each: each.between(-40, 40)) * 9 / 5 + 32
    keys = [readings["ts"].dt.floor("h"), "lat", "lon"]
    return readings.assign(value=clean).groupby(keys)["value"].mean()


def test_q1_equals_pandas_and_pykrige(chain: Connection, readings: pd.DataFrame) -> None:
    found = chain.sql(f"SELECT * FROM q1 {HALF_DAY} ORDER BY lat, lon").table.to_pandas()
    assert len(found) == 9 * 5
    goals = on_sphere(found["lat"].to_numpy(), found["lon"].to_numpy())
    maps = []
    for hour, values in aligned_by_pandas(readings).groupby(level=0):
        if hour >= pd.Timestamp("2007-09-05 12:00", tz="UTC"):
            continue
        known = values.dropna()
        # A base's cell stands for its corner: a thousandth of an arc second.
        lat, lon = (
            np.floor(known.index.get_level_values(axis).to_numpy() * 3_600_000) / 3_600_000
            for axis in ("lat", "lon")
        )
        points = on_sphere(lat, lon)
        kriging = OrdinaryKriging3D(*points.T, known.to_numpy(), variogram_model="spherical")
        near = min(12, len(known))
        value, _ = kriging.execute("points", *goals.T, backend="loop", n_closest_points=near)
        maps.append(np.asarray(value))
    np.testing.assert_allclose(found["value"], np.mean(maps, axis=0), rtol=1e-5)
    assert set(found["time"]) == {pd.Timestamp("2007-09-05", tz="UTC")}


def test_alignment_equals_pandas_and_spark(chain: Connection, readings: pd.DataFrame) -> None:
    found = chain.sql("SELECT time, value FROM aligned").table.to_pandas()
    expected = aligned_by_pandas(readings)
    assert len(found) == len(expected)
    np.testing.assert_allclose(np.sort(found["value"]), np.sort(expected.to_numpy()), rtol=1e-9)
    (spark,) = rows_of(
        chain.sql(
            "SELECT count(*) AS n, avg(CASE WHEN ambient_temperature BETWEEN -40 AND 40 "
            "THEN ambient_temperature * 9 / 5 + 32 END) AS mean FROM readings"
        ).table
    )
    (cells,) = rows_of(chain.sql("SELECT count(*) AS n, avg(value) AS mean FROM clean").table)
    assert cells == pytest.approx(spark)


def test_several_perspectives_stand_in_one_select(chain: Connection) -> None:
    joined = chain.sql(
        f"WITH hot AS (SELECT * FROM aligned WITHIN (time FROM '2007-09-05' TO '2007-09-06')) "
        f"SELECT count(*) AS n FROM q1 {HALF_DAY} AS a JOIN hot b ON b.time = a.time"
    )
    (row,) = rows_of(joined.table)
    assert row["n"] % 45 == 0
    assert row["n"] > 0


def test_python_reads_a_perspective_as_an_array(chain: Connection, tmp_path: Path) -> None:
    reader = chain.perspective("field")
    lat, lon = (45 + 52 / 60 + SECOND, 45 + 52 / 60 + 9 * SECOND), (7.1769, 7.178)
    six = datetime(2007, 9, 5, 6, tzinfo=UTC)
    dataset = reader.to_xarray(time=("2007-09-05", six), lat=lat, lon=lon)
    assert dict(dataset.sizes)["time"] == 6
    assert dict(dataset.sizes)["lat"] == 9
    assert not np.isnan(dataset["field"].values).any()
    reader.to_zarr(tmp_path / "out.zarr", time=("2007-09-05", "2007-09-05 06:00"), lat=lat, lon=lon)
    path = tmp_path / "out.zarr"
    chain.script(
        f"CREATE BASE again FROM zarr(path => '{path}') (time, lat, lon, field) "
        "RESOLUTION (time INTERVAL 1 HOUR, lat 1/3600, lon 1/3600)"
    )
    again = chain.perspective("again").to_xarray()
    np.testing.assert_allclose(again["again"].values, dataset["field"].values)
    with pytest.raises(UnknownNameError):
        chain.perspective("readings")


def test_pictures_grow_into_what_a_select_gives(chain: Connection) -> None:
    reader = chain.perspective("field")
    lat, lon = (45 + 52 / 60 + SECOND, 45 + 52 / 60 + 9 * SECOND), (7.1769, 7.178)
    seen = list(reader.pictures(lat=lat, lon=lon, share=0.2, fold=timedelta(hours=12)))
    whole = reader.to_table(lat=lat, lon=lon)
    assert [each.whole for each in seen] == [False] * (len(seen) - 1) + [True]
    assert 0 < seen[0].to_table().num_rows < whole.num_rows
    pd.testing.assert_frame_equal(seen[-1].to_table().to_pandas(), whole.to_pandas(), rtol=1e-9)
    assert seen[0].to_xarray()["field"].notnull().any()
    with pytest.raises(PenstockError) as refused:
        next(iter(reader.pictures(lat=lat, lon=lon, fold=timedelta(minutes=7))))
    assert refused.value.code == "BAD_ARGUMENT"


def test_explain_tells_how_cells_are_computed(chain: Connection) -> None:
    text = chain.sql(f"EXPLAIN SELECT * FROM q1 {HALF_DAY}").message
    assert "coalesced: clean" in text
    assert "<- chosen" in text
    assert chain.sql("EXPLAIN aligned").message.startswith("aligned:")


def test_cells_by_slabs_of_spark_are_those_of_the_driver(
    chain: Connection, spark: SparkSession, tmp_path: Path
) -> None:
    """Q1 is cut below its surface, the map across time, stations across latitude."""
    chain.sql("CREATE PERSPECTIVE dry FROM clean GRID (time INTERVAL 1 DAY) AS aggregate(count)")
    asked = (
        f"SELECT * FROM q1 {HALF_DAY}",
        f"SELECT * FROM field {HALF_DAY}",
        "SELECT * FROM dry",
        "SELECT * FROM clean",
    )
    by = " ORDER BY time, lat, lon"
    whole = [chain.sql(each + by).table.to_pandas() for each in asked]
    chain.close()
    settings = Settings(limits=RunLimits(driver_rows=0))
    with penstock.connect(tmp_path / "home", spark=spark, settings=settings) as ps:
        assert "by slabs" in ps.sql(f"EXPLAIN {asked[0]}").message
        for text, expected in zip(asked, whole, strict=True):
            found = ps.sql(text + by).table.to_pandas()
            pd.testing.assert_frame_equal(found, expected, rtol=1e-9)


def test_definitions_come_back(opener: Callable[[], Connection], stored: Path) -> None:
    asked = "SELECT * FROM aligned WITHIN (time FROM '2007-09-05' TO '2007-09-05 03:00')"
    with opener() as ps:
        table = f"CREATE TABLE readings FROM files(path => '{stored}', format => 'parquet')"
        ps.script(f"{table}; {CHAIN}")
        before = ps.sql(asked).table
        shown = [rows_of(ps.sql(f"SHOW {each}").table) for each in ("BASES", "PERSPECTIVES")]
    with opener() as ps:
        assert ps.sql(asked).table == before
        again = [rows_of(ps.sql(f"SHOW {each}").table) for each in ("BASES", "PERSPECTIVES")]
        assert again == shown
        assert [len(each) for each in shown] == [1, 4]
        ps.script("DROP PERSPECTIVE q1; DROP PERSPECTIVE field")
        assert len(rows_of(ps.sql("SHOW PERSPECTIVES").table)) == 2
    with opener() as ps:
        assert len(rows_of(ps.sql("SHOW PERSPECTIVES").table)) == 2


def test_a_base_over_a_stream_sees_what_was_pushed(ps: Connection) -> None:
    ps.script(
        "CREATE STREAM live (ts TIMESTAMP, lat DOUBLE, lon DOUBLE, t DECIMAL(6, 2)) "
        "TIMESTAMP BY ts ARCHIVE FOR INTERVAL 10 DAYS FROM push();"
        "CREATE QUERY kept AS SELECT ts, lat, lon, t FROM live WHERE t > 0;"
        "CREATE BASE b FROM live (ts, lat, lon, t);"
        "CREATE PERSPECTIVE hourly FROM b GRID (time INTERVAL 1 HOUR) AS aggregate(max)"
    )
    moments = [datetime(2026, 1, 1, hour, 30, tzinfo=UTC) for hour in range(4)]
    for at, ts in enumerate(moments):
        ps.push("live", [{"ts": ts, "lat": 1.5, "lon": 2.5, "t": at}])
    ps.end("live")
    ps.wait(120)
    found = rows_of(ps.sql("SELECT time, value FROM hourly ORDER BY time").table)
    assert [row["value"] for row in found] == [0, 1, 2, 3]
    assert [row["time"].hour for row in found] == [0, 1, 2, 3]


WRONG = (
    ("CREATE BASE b FROM nothing (a, b, c, d)", "UNKNOWN_NAME"),
    ("CREATE BASE b FROM readings (ts, lat, lo, humidity)", "UNKNOWN_COLUMN"),
    ("CREATE BASE b FROM readings (lat, ts, lon, humidity)", "TYPE_MISMATCH"),
    ("CREATE BASE raw FROM readings (ts, lat, lon, humidity)", "NAME_TAKEN"),
    ("CREATE BASE b FROM q1 (ts, lat, lon, humidity)", "UNKNOWN_NAME"),
    ("CREATE PERSPECTIVE p FROM readings AS aggregate(avg)", "UNKNOWN_NAME"),
    (
        "CREATE PERSPECTIVE p FROM aligned GRID (time INTERVAL 90 MINUTES) AS aggregate(avg)",
        "BAD_GRID",
    ),
    ("CREATE PERSPECTIVE p FROM aligned, field AS merge(aligned + field)", "BAD_GRID"),
    ("SELECT * FROM readings WITHIN (lat FROM 1 TO 2)", "BAD_GRID"),
    ("SELECT * FROM q1 WITHIN (lat FROM 1.00001 TO 1.00002)", "BAD_GRID"),
    ("SELECT * FROM field WITHIN (lat FROM 0 TO 90, lon FROM 0 TO 90)", "BAD_GRID"),
    ("SELECT * FROM q1 WITHIN (lat FROM 0 TO 90, lon FROM 0 TO 90)", "BAD_GRID"),
    ("SELECT * FROM field WITHIN (lat FROM 44 TO 46, lon FROM 7 TO 7.3)", "BAD_GRID"),
    ("EXPLAIN SELECT * FROM field WITHIN (lat FROM 0 TO 90, lon FROM 0 TO 90)", "BAD_GRID"),
    ("SELECT * FROM field WITHIN (time FROM 'noon' TO '2026-01-01')", "SQL_SYNTAX"),
    ("CREATE PERSPECTIVE p FROM raw GRID (lat 0) AS interpolate(nearest)", "BAD_GRID"),
    ("CREATE PERSPECTIVE p FROM raw GRID (lat 1/0) AS interpolate(nearest)", "BAD_GRID"),
    ("CREATE PERSPECTIVE p FROM raw AS convert(nosuch(value))", "UNKNOWN_FUNCTION"),
    ("CREATE PERSPECTIVE p FROM raw AS convert(other + 1)", "UNKNOWN_COLUMN"),
    ("CREATE QUERY q AS SELECT * FROM aligned", "BAD_GRID"),
    ("CREATE QUERY q AS SELECT * FROM readings WITHIN (lat FROM 1 TO 2)", "BAD_GRID"),
    ("DROP PERSPECTIVE field", "IN_USE"),
    ("DROP BASE raw", "IN_USE"),
    ("DROP TABLE readings", "IN_USE"),
    ("DROP PERSPECTIVE raw", "UNKNOWN_NAME"),
    ("CREATE OR REPLACE PERSPECTIVE q1 FROM q1 AS convert(value)", "CYCLE"),
)


def test_what_is_wrong_is_told(chain: Connection) -> None:
    for text, code in WRONG:
        with pytest.raises(PenstockError) as refused:
            chain.sql(text)
        assert (refused.value.code, text) == (code, text)
        assert refused.value.place is not None


STRANGE = (
    ("2026-01-01 00:00:10", 1.0, 2.0, 1.0),
    ("2026-01-01 00:00:20", 1.1, 2.1, 2.0),
    ("2026-01-01 00:00:20", 1.1, 2.1, 3.0),  # two readings of one cell
    ("2026-01-01 00:00:30", None, 2.1, 3.0),  # nowhere
    (None, 1.0, 2.1, 3.0),  # at no time
    ("2026-01-01 01:00:30", 1.2, 2.2, None),
    ("2026-01-01 01:00:40", 1.2, 2.2, math.nan),
    ("2026-01-01 02:00:30", 1.2, 2.2, 1e308),  # their sum is none
    ("2026-01-01 02:00:31", 1.2, 2.2, 1e308),
    ("2026-01-01 03:00:00", 1.2, 2.2, math.inf),
)


def test_strange_readings_make_cells_null_and_no_query_fail(ps: Connection, tmp_path: Path) -> None:
    columns = zip(*STRANGE, strict=True)
    table = pa.table(dict(zip(("ts", "lat", "lon", "v"), columns, strict=True)))
    times = table["ts"].cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    pq.write_table(table.set_column(0, "ts", times), tmp_path / "strange.parquet")
    ps.script(
        f"CREATE TABLE r FROM files(path => '{tmp_path}/strange.parquet', format => 'parquet');"
        "CREATE BASE b FROM r (ts, lat, lon, v);"
        "CREATE PERSPECTIVE h FROM b GRID (time INTERVAL 1 HOUR) AS aggregate(sum);"
        "CREATE PERSPECTIVE k FROM h GRID (lat 1/10, lon 1/10) AS interpolate(kriging);"
        "CREATE PERSPECTIVE n FROM b AS convert(sqrt(-1 - value * value));"
        "CREATE PERSPECTIVE m FROM n GRID (lat 1/10, lon 1/10) AS interpolate(idw)"
    )

    def reasons(name: str) -> list[str | None]:
        rows = rows_of(ps.sql(f"SELECT * FROM {name} ORDER BY time, lat, lon").table)
        return [row["reason"] for row in rows]

    assert reasons("b") == [None, "readings of it differ", None, None]
    assert reasons("h") == [None, "all its cells are NULL", "its cells come to no number"]
    assert set(reasons("k")) == {"too few points near it"}
    assert set(reasons("n")) == {"a formula gave NULL", "readings of it differ"}
    assert set(reasons("m")) == {"too few points near it"}


def test_a_file_that_is_none_is_told_when_it_is_read(ps: Connection, tmp_path: Path) -> None:
    ps.sql(f"CREATE BASE b FROM netcdf(path => '{tmp_path}/none.nc') (time, lat, lon, t)")
    with pytest.raises(PenstockError) as refused:
        ps.sql("SELECT * FROM b")
    assert refused.value.code == "BAD_GRID"
