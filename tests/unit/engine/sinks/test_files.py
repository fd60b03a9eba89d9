import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.engine.sinks.files import FilesSink
from penstock.engine.sinks.sink import Delivery
from penstock.errors import DiskFullError, SinkError
from penstock.model.definitions import Connector, Option, QueryDefinition

ROWS = pa.table({"car": ["a", "b"], "mph": [5, 10]})


def files(path: Path | str, query: str = "turns", **options: Option) -> FilesSink:
    connector = Connector("files", (("path", str(path)), *options.items()))
    return FilesSink(QueryDefinition(query, "", sink=connector))


def opened(path: Path | str, **options: Option) -> FilesSink:
    sink = files(path, **options)
    sink.open()
    return sink


def parts(path: Path) -> dict[str, bytes]:
    return {part.name: part.read_bytes() for part in path.iterdir() if part.name != ".penstock"}


def test_json_parts_are_numbered_by_delivery(tmp_path: Path) -> None:
    sink = opened(tmp_path)
    sink.write(Delivery("turns", 1, ROWS))
    sink.write(Delivery("turns", 123_456_789, ROWS.slice(1)))
    assert parts(tmp_path) == {
        "part-00000001.json": b'{"car":"a","mph":5}\n{"car":"b","mph":10}\n',
        "part-123456789.json": b'{"car":"b","mph":10}\n',
    }


def test_csv_parts_name_their_columns_unless_told_not_to(tmp_path: Path) -> None:
    opened(tmp_path / "with", format="csv").write(Delivery("turns", 1, ROWS))
    opened(tmp_path / "without", format="csv", header=False).write(Delivery("turns", 1, ROWS))
    assert parts(tmp_path / "with") == {"part-00000001.csv": b"car,mph\na,5\nb,10\n"}
    assert parts(tmp_path / "without") == {"part-00000001.csv": b"a,5\nb,10\n"}


def test_parquet_parts_read_back_as_one_table(tmp_path: Path) -> None:
    sink = opened(tmp_path, format="parquet")
    sink.write(Delivery("turns", 1, ROWS))
    sink.write(Delivery("turns", 2, ROWS))
    assert pq.read_table(tmp_path) == pa.concat_tables([ROWS, ROWS])


def test_directories_that_are_missing_are_made(tmp_path: Path) -> None:
    opened(tmp_path / "a" / "b").write(Delivery("turns", 1, ROWS))
    assert list(parts(tmp_path / "a" / "b")) == ["part-00000001.json"]


def test_a_path_may_be_relative_and_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sink = opened("out")
    monkeypatch.chdir("/")
    sink.write(Delivery("turns", 1, ROWS))
    assert list(parts(tmp_path / "out")) == ["part-00000001.json"]


def test_a_path_may_be_a_local_address(tmp_path: Path) -> None:
    opened(f"file://{tmp_path}/out").write(Delivery("turns", 1, ROWS))
    assert list(parts(tmp_path / "out")) == ["part-00000001.json"]


def test_a_path_that_is_a_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(SinkError) as caught:
            opened(path)
        assert caught.value.code == "SINK_FAILED"
    assert (tmp_path / "file").read_text() == "precious"


def test_a_directory_of_another_query_is_refused(tmp_path: Path) -> None:
    opened(tmp_path).write(Delivery("turns", 1, ROWS))
    with pytest.raises(SinkError) as caught:
        files(tmp_path, query="other").open()
    assert "turns" in caught.value.message
    opened(tmp_path)


def test_what_else_is_in_the_directory_stays(tmp_path: Path) -> None:
    (tmp_path / "stranger").touch()
    opened(tmp_path).write(Delivery("turns", 1, ROWS))
    assert (tmp_path / "stranger").exists()


def test_what_a_killed_process_left_half_written_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".part-00000007.json.new").write_bytes(b'{"car":')
    opened(tmp_path)
    assert parts(tmp_path) == {}


def test_a_directory_that_went_away_is_a_sink_that_failed(tmp_path: Path) -> None:
    sink = opened(tmp_path / "out")
    (tmp_path / "out" / ".penstock").unlink()
    (tmp_path / "out").rmdir()
    with pytest.raises(SinkError):
        sink.write(Delivery("turns", 1, ROWS))


def test_a_type_that_the_format_cannot_hold_is_a_sink_that_failed(tmp_path: Path) -> None:
    interval = pa.table({"i": pa.array([None], pa.month_day_nano_interval())})
    with pytest.raises(SinkError):
        opened(tmp_path, format="parquet").write(Delivery("turns", 1, interval))
    assert parts(tmp_path) == {}


def test_parts_above_a_number_are_set_aside_and_overwrite_nothing_there(tmp_path: Path) -> None:
    sink = opened(tmp_path)
    (tmp_path / "stranger").touch()
    for number in (1, 2, 3, 100_000_000):
        sink.write(Delivery("turns", number, ROWS))
    assert sink.set_aside(100_000_000) == ""
    assert str(tmp_path / "_set_aside" / "1") in sink.set_aside(2)
    left = sorted(path.name for path in tmp_path.glob("part-*"))
    assert left == ["part-00000001.json", "part-00000002.json"]
    sink.write(Delivery("turns", 3, ROWS))
    assert sink.set_aside(1)
    assert sorted(path.name for path in (tmp_path / "_set_aside").rglob("part-*")) == [
        "part-00000002.json",
        "part-00000003.json",
        "part-00000003.json",
        "part-100000000.json",
    ]
    assert (tmp_path / "stranger").exists()


def test_parts_of_another_query_are_not_set_aside(tmp_path: Path) -> None:
    opened(tmp_path).write(Delivery("turns", 1, ROWS))
    assert files(tmp_path, query="other").set_aside(0) == ""
    assert list(parts(tmp_path)) == ["part-00000001.json"]


def test_nothing_is_set_aside_where_nothing_is(tmp_path: Path) -> None:
    assert files(tmp_path / "none").set_aside(0) == ""
    assert not (tmp_path / "none").exists()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=8", "penstock-test", str(disk)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only root, where mounting is allowed, can make a tiny disk")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_full_disk_leaves_the_parts_that_were_there(tiny_disk: Path) -> None:
    sink = opened(tiny_disk)
    sink.write(Delivery("turns", 1, ROWS))
    before = parts(tiny_disk)
    with pytest.raises(DiskFullError) as caught:
        sink.write(Delivery("turns", 2, pa.table({"a": ["x" * 1000] * 100})))
    assert caught.value.code == "DISK_FULL"
    assert parts(tiny_disk) == before
    sink.write(Delivery("turns", 2, ROWS))
    assert len(parts(tiny_disk)) == 2


def test_a_full_disk_is_told_when_a_sink_is_opened(tiny_disk: Path) -> None:
    use_up_names(tiny_disk)
    with pytest.raises(DiskFullError):
        opened(tiny_disk / "out")


def use_up_names(disk: Path) -> None:
    def make_many() -> None:
        for number in range(100):
            (disk / str(number)).touch()

    with pytest.raises(OSError, match="No space"):
        make_many()


def test_a_part_is_on_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = opened(tmp_path)
    seen: list[set[str]] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        seen.append(set(parts(tmp_path)))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    sink.write(Delivery("turns", 1, ROWS))
    assert seen == [{".part-00000001.json.new"}, {"part-00000001.json"}]
