"""The slabs of a surface as tasks of Spark: readings grouped by slab, cells from Python workers.

Each worker has the readings of one slab at a time, so memory is bounded by slabs, however long the
field is.
"""

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.grid.slabs import NUMBERED, Slabs

READINGS = ("base", "time", "lat", "lon", "value")
TYPES = "time BIGINT, lat BIGINT, lon BIGINT, value DOUBLE, reason TINYINT"


def by_slabs(slabs: Slabs) -> Callable[[DataFrame], DataFrame]:
    """Return what makes cells of a frame of readings; a reading may belong to several slabs."""

    def cells(key: tuple[pa.Scalar, ...], readings: pa.Table) -> pa.Table:
        return slabs.cells(key[0].as_py(), readings.select(READINGS)).cast(NUMBERED)

    def shaped(readings: DataFrame) -> DataFrame:
        ranges = readings.sparkSession.createDataFrame(slabs.ranges).withColumnRenamed("base", "of")
        in_it = (
            (sf.col("base") == sf.col("of"))
            & (sf.col("time") >= sf.col("begin"))
            & (sf.col("time") < sf.col("end"))
            & sf.col("lat").between(sf.col("south"), sf.col("north"))
        )
        placed = readings.join(sf.broadcast(ranges), in_it).select("slab", *READINGS)
        many = placed.repartition(max(1, len(slabs.regions)), "slab")
        return many.groupBy("slab").applyInArrow(cells, TYPES)

    return shaped
