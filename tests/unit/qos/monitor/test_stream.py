import math
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from penstock.qos.monitor.columns import codes_of
from penstock.qos.monitor.stream import StreamMonitor

START = datetime(2024, 1, 1, tzinfo=UTC).timestamp()


def train(second: int, rows: int = 200) -> pa.Table:
    times = START + second + np.arange(rows) / rows
    micros = pa.array((times * 1e6).astype(np.int64)).cast(pa.timestamp("us", "UTC"))
    words = pa.array([f"k{n % 20}" for n in range(rows)])
    return pa.table({"ts": micros, "k": words})


def test_a_stream_s_properties_are_measured_over_its_trains() -> None:
    monitor = StreamMonitor("ts", "k")
    for second in range(20):
        monitor = monitor.add(train(second), float(second))
    found = monitor.properties()
    assert found.rate == pytest.approx(200.0, rel=0.01)
    assert (found.scrambling, found.multiplicity, found.slack) == (0, 1, 0.0)
    assert found.keys == pytest.approx(20, abs=1)
    assert found.clustered == 0.0  # 19 others stand between two of one key
    assert found.skew < 1.5


def test_a_stream_without_a_time_or_keys_is_measured_by_its_rate_alone() -> None:
    found = StreamMonitor().add(train(0), 0.0).add(train(1), 1.0).properties()
    assert found.rate == 200.0
    assert math.isnan(found.slack)
    assert math.isnan(found.keys)


def test_an_empty_train_and_nulls_are_no_trouble() -> None:
    monitor = StreamMonitor("ts", "k").add(train(0).slice(0, 0), 0.0)
    nulls = pa.table({"ts": pa.nulls(3, pa.timestamp("us", "UTC")), "k": pa.nulls(3, pa.string())})
    found = monitor.add(nulls, 1.0)
    assert (found.tuples, found.order.tuples, found.keys.tuples) == (3, 0, 0)


@pytest.mark.parametrize(
    "values",
    [
        pa.chunked_array([["a", None, "b"], ["a"]]),
        pa.chunked_array([[1.5, None, 2.5], [1.5]]),
        pa.chunked_array([[True, None, False], [True]]),
        pa.chunked_array([[7, None, 8], [7]]),
        pa.chunked_array([[b"x", None, b"y"], [b"x"]]),
    ],
    ids=["string", "double", "boolean", "long", "binary"],
)
def test_equal_values_have_equal_codes_and_others_not(values: pa.ChunkedArray) -> None:
    first, other, again = codes_of(values)
    assert first == again != other
