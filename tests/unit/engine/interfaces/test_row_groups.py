"""Rows of a Parquet file by their numbers, however its groups are cut."""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.interfaces.formats.parquet import RowGroups
from tests.examples import examples


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(1, 12), st.integers(1, 5), st.data())
def test_any_range_is_what_the_file_has(count: int, group: int, data: st.DataObject) -> None:
    table = pa.table({"n": range(count), "x": [b"." * number for number in range(count)]})
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "rows.parquet"
        pq.write_table(table, path, row_group_size=group)
        groups = RowGroups(path)
        for _ in range(4):
            first = data.draw(st.integers(0, count))
            last = data.draw(st.integers(first, count))
            names = data.draw(st.sampled_from([["n", "x"], ["x", "n"], ["x"]]))
            found = groups.read(first, last, names)
            assert found.equals(table.slice(first, last - first).select(names))


def test_whole_groups_come_in_one_piece(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": [b"." * 100] * 40}), path, row_group_size=5)
    assert RowGroups(path).read(0, 40, ["x"])["x"].num_chunks == 1
