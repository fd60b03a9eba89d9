"""Buffers and the trains that wait in them, as rows."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.engine.trains.buffers import BufferBounds
from penstock.plan.operators import key
from penstock.runtime.views.relations.topology.buffers import (
    BUFFERS,
    TRAINS,
    buffer_rows,
    train_rows,
)
from penstock.runtime.views.relations.topology.units import short
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import Hall, chain, scan


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def test_trains_wait_in_memory_up_to_a_bound_and_on_disk_beyond(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home", bounds=BufferBounds(buffer_bytes=60))
    root = chain("s", "x")
    hall.add("q", root)
    for number in (1, 2, 3):
        hall.push("s", number, number + 10)
        hall.take_in()
    trains = pa.Table.from_pylist(list(train_rows(hall.topology.buffers)), TRAINS.columns)
    assert [
        (row["buffer"], row["number"], row["rows"], row["place"]) for row in trains.to_pylist()
    ] == [(short(key(scan("s"))), n, 2, "memory" if n == 1 else "disk") for n in (1, 2, 3)]
    assert all(row["bytes"] > 0 and row["watermark"] for row in trains.to_pylist())
    held = pa.Table.from_pylist(list(buffer_rows(hall.topology)), BUFFERS.columns).to_pylist()
    stream, output = sorted(held, key=lambda row: row["stream"] is None)
    assert (stream["stream"], stream["unit"], stream["trains"], stream["rows"]) == ("s", None, 3, 6)
    assert (stream["last_train"], stream["readers"], stream["behind"]) == (3, 1, 1)
    assert stream["disk_bytes"] > 0
    assert (output["stream"], output["unit"], output["rows"]) == (None, short(key(root)), 0)
    hall.drain()
    assert list(train_rows(hall.topology.buffers)) == []
