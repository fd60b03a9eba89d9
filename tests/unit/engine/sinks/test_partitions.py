"""Rows by directories: Arrow reads back what was written, and every row is in one of them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.sinks import partitions
from penstock.engine.sinks.files import FilesSink
from penstock.engine.sinks.partitions import by_partition, directory_name
from penstock.engine.sinks.sink import Delivery
from penstock.errors import SinkError
from penstock.model.definitions import Connector, QueryDefinition

ROWS = pa.table({"n": [1, 2, 3, 4], "Day": ["a/b", None, "a/b", "é="], "k": [1, 1, 2, 1]})
CASES = st.lists(
    st.tuples(st.integers(0, 99), st.none() | st.text(max_size=4), st.none() | st.booleans())
)


def sink(path: Path, kind: str = "parquet") -> FilesSink:
    options = (("path", str(path)), ("format", kind), ("partition_by", "day, k"))
    made = FilesSink(QueryDefinition("q", "SELECT 1", sink=Connector("files", options)))
    made.open()
    return made


@given(CASES)
def test_every_row_is_in_the_directory_of_its_values_in_the_old_order(
    cases: list[tuple[int, str | None, bool | None]],
) -> None:
    columns = list(zip(*cases, strict=True)) or [(), (), ()]
    kinds = (pa.int64(), pa.string(), pa.bool_())
    rows = pa.table(dict(zip("nab", map(pa.array, columns, kinds), strict=True)))
    expected: dict[str, list[int]] = {}
    for n, a, b in cases:
        told = None if b is None else str(b).lower()
        place = f"{directory_name('a', a)}/{directory_name('b', told)}"
        expected.setdefault(place, []).append(n)
    found = {str(path): part["n"].to_pylist() for path, part in by_partition(rows, ["a", "B"])}
    assert found == expected


def test_arrow_reads_the_values_back_from_the_names(tmp_path: Path) -> None:
    sink(tmp_path).write(Delivery("q", 1, ROWS))
    parts = ds.partitioning(pa.schema([("Day", "string"), ("k", "int64")]), flavor="hive")
    files = sorted(tmp_path.rglob("part-*"))
    found = ds.dataset(
        list(map(str, files)),
        format="parquet",
        partitioning=parts,
        partition_base_dir=str(tmp_path),
    )
    rows = found.to_table().sort_by("n").select(["n", "Day", "k"]).to_pylist()
    assert rows == ROWS.to_pylist()
    assert {file.name for file in files} == {"part-00000001.parquet"}
    assert all("=" in file.parent.name and "=" in file.parent.parent.name for file in files)


def test_the_same_number_again_writes_the_same_and_unknown_ones_are_set_aside(
    tmp_path: Path,
) -> None:
    made = sink(tmp_path, "json")
    for number in (1, 2, 2, 3):
        made.write(Delivery("q", number, ROWS))
    before = {path: path.read_bytes() for path in tmp_path.rglob("part-*")}
    assert len(before) == 3 * 4
    assert "8 files" not in made.set_aside(3)
    assert made.set_aside(1).startswith("8 files")
    left = [path for path in tmp_path.rglob("part-*") if "_set_aside" not in path.parts]
    assert {path.name for path in left} == {"part-00000001.json"}
    aside = tmp_path / "_set_aside" / "1"
    moved = {path.relative_to(aside): path.read_bytes() for path in aside.rglob("part-*")}
    assert moved == {
        path.relative_to(tmp_path): data for path, data in before.items() if path not in left
    }


def test_what_a_killed_process_left_half_written_is_removed_everywhere(tmp_path: Path) -> None:
    made = sink(tmp_path)
    made.write(Delivery("q", 1, ROWS))
    draft = next(tmp_path.rglob("part-*")).with_name(".part-00000002.parquet.new")
    draft.write_bytes(b"half")
    made.open()
    assert not draft.exists()


@pytest.mark.parametrize(
    ("columns", "words"),
    [(["zip"], "no column zip"), (["n", "day", "k"], "left"), (["tags"], "tags holds")],
)
def test_rows_that_cannot_be_divided_are_told(columns: list[str], words: str) -> None:
    rows = ROWS if columns != ["tags"] else ROWS.append_column("tags", [[["x"]] * 4])
    with pytest.raises(SinkError, match=words):
        list(by_partition(rows, columns))


def test_too_many_directories_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "MOST_PARTITIONS", 2)
    with pytest.raises(SinkError, match="directories"):
        list(by_partition(ROWS, ["n"]))
