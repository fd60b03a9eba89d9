from pathlib import Path

import pyarrow as pa
import pytest

from penstock.engine.sinks.sink import Delivery
from penstock.engine.trains.rows import write_parquet
from penstock.errors import DiskFullError, HomeError
from penstock.runtime.durable import results
from penstock.runtime.durable.result_index import ResultIndex
from penstock.runtime.durable.results import ResultLog

FILE = 4096  # what one small delivery counts
LARGE = 10_000  # rows of a delivery that is a file


def opened(directory: Path, **bounds: int) -> ResultLog:
    return ResultLog(directory, "query", ResultIndex(directory / "shelf.db"), **bounds)


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if "shelf" not in path.name)


def delivery(number: int, rows: int = 2) -> Delivery:
    table = pa.table({"n": pa.array([number] * rows, pa.int64()), "i": list(range(rows))})
    return Delivery("query", number, table)


def filled(
    directory: Path, count: int, *, keep: int = 1000, rows: int = 2, **bounds: int
) -> ResultLog:
    log = opened(directory, keep_bytes=keep * FILE, **bounds)
    for number in range(1, count + 1):
        log.append(delivery(number, rows))
    return log


def numbers(log: ResultLog, after: int = 0) -> list[int]:
    return [one.number for one in log.read_after(after)]


def test_an_empty_log_reaches_back_to_the_first_delivery(tmp_path: Path) -> None:
    log = opened(tmp_path)
    assert (log.first, log.last) == (1, 0)
    assert log.table() is None
    assert numbers(log) == []


def test_deliveries_come_back_as_they_were(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    assert list(log.read_after(1)) == [delivery(2), delivery(3)]
    assert log.table() == pa.concat_tables(delivery(number).rows for number in (1, 2, 3))


def test_the_table_has_the_columns_of_the_newest_delivery(tmp_path: Path) -> None:
    log = filled(tmp_path, 2)
    for number in (3, 4):
        log.append(Delivery("query", number, pa.table({"n": [str(number)]})))
    assert log.table() == pa.table({"n": ["3", "4"]})


def test_a_delivery_without_rows_is_one(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append(delivery(1, rows=0))
    assert list(log.read_after(0)) == [delivery(1, rows=0)]


def test_a_log_is_found_again(tmp_path: Path) -> None:
    filled(tmp_path, 12, keep=5)
    log = opened(tmp_path, keep_bytes=5 * FILE)
    assert (log.first, log.last) == (8, 12)
    assert numbers(log) == [8, 9, 10, 11, 12]


def test_the_oldest_go_when_the_bound_is_reached(tmp_path: Path) -> None:
    log = filled(tmp_path, 100, keep=10)
    assert (log.first, log.last) == (91, 100)
    assert files(tmp_path) == []


def test_large_deliveries_are_files_and_go_with_their_turn(tmp_path: Path) -> None:
    size = -(-len(results._packed(delivery(1, LARGE).rows)) // FILE)
    log = filled(tmp_path, 5, keep=3 * size, rows=LARGE)
    log.append(delivery(6))
    assert numbers(log) == [4, 5, 6]
    assert files(tmp_path) == [f"{number:010d}-{LARGE}.arrow" for number in (4, 5)]
    assert list(log.read_after(4)) == [delivery(5, LARGE), delivery(6)]


def test_files_are_found_again_also_where_the_shelf_is_lost(tmp_path: Path) -> None:
    filled(tmp_path, 3, rows=LARGE)
    for path in tmp_path.glob("shelf.db*"):
        path.unlink()
    assert list(opened(tmp_path).read_after(1)) == [delivery(2, LARGE), delivery(3, LARGE)]


def test_logs_on_one_shelf_keep_apart(tmp_path: Path) -> None:
    result_index = ResultIndex(tmp_path / "shelf.db")
    one, other = (ResultLog(tmp_path / name, name, result_index) for name in ("One", "Other"))
    one.append(delivery(1))
    other.append(delivery(1, 5))
    one.clear()
    assert numbers(one) == []
    assert [each.rows.num_rows for each in other.read_after(0)] == [5]


def test_the_newest_is_kept_whatever_its_size(tmp_path: Path) -> None:
    log = opened(tmp_path, keep_bytes=1)
    log.append(delivery(1, rows=10_000))
    assert (log.first, log.last) == (1, 1)
    log.append(delivery(2, rows=10_000))
    assert (log.first, log.last) == (2, 2)


def test_a_number_again_changes_nothing(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    log.append(delivery(2))
    assert numbers(log) == [1, 2, 3]


def test_a_number_behind_the_logs_reach_does_not_come_back(tmp_path: Path) -> None:
    log = filled(tmp_path, 10, keep=5)
    log.append(delivery(2))
    assert numbers(log) == [6, 7, 8, 9, 10]


def test_an_empty_log_may_begin_anywhere(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append(delivery(58))
    assert (log.first, log.last) == (58, 58)


def test_reading_sees_what_comes_meanwhile_and_gets_over_what_goes(tmp_path: Path) -> None:
    log = filled(tmp_path, 5, keep=5)
    reading = log.read_after(0)
    assert next(reading).number == 1
    for number in range(6, 10):
        log.append(delivery(number))
    assert [one.number for one in reading] == [5, 6, 7, 8, 9]


def test_it_knows_how_many_rows_are_gone(tmp_path: Path) -> None:
    log = filled(tmp_path, 10, keep=5)
    assert log.rows_gone(1, 6) == 10
    assert log.rows_gone(4, 6) == 4
    assert log.rows_gone(4, 7) is None
    assert opened(tmp_path).rows_gone(4, 6) == 4


def test_it_remembers_only_so_many_counts(tmp_path: Path) -> None:
    log = filled(tmp_path, 10, keep=5, remembered=3)
    assert log.rows_gone(3, 6) == 6
    assert log.rows_gone(2, 6) is None


@pytest.mark.parametrize("damage", [b"", b"ARROW1 and then nothing"])
def test_a_file_that_a_power_cut_spoiled_counts_as_removed(tmp_path: Path, damage: bytes) -> None:
    filled(tmp_path, 4, rows=LARGE)
    next(tmp_path.glob("*2-*.arrow")).write_bytes(damage)
    log = opened(tmp_path)
    assert numbers(log) == [1, 3, 4]
    assert log.rows_gone(2, 3) == LARGE
    log.append(delivery(2, LARGE))
    assert numbers(log) == [1, 2, 3, 4]


def test_what_a_killed_process_left_half_written_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".0000000001-2.arrow.new").write_bytes(b"half")
    (tmp_path / "stranger").touch()
    assert numbers(opened(tmp_path)) == []
    assert files(tmp_path) == ["stranger"]


def test_clearing_removes_everything(tmp_path: Path) -> None:
    log = filled(tmp_path, 4)
    log.append(delivery(5, LARGE))
    log.clear()
    assert files(tmp_path) == []
    assert (log.first, log.last) == (1, 0)
    log.append(delivery(1))
    assert numbers(log) == [1]


def test_a_place_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result_index = ResultIndex(tmp_path / "shelf.db")
    with pytest.raises(HomeError) as caught:
        ResultLog(tmp_path / "file", "query", result_index)
    assert caught.value.code == "BAD_HOME"


def test_a_log_whose_directory_is_gone_says_so(tmp_path: Path) -> None:
    log = ResultLog(tmp_path / "log", "query", ResultIndex(tmp_path / "shelf.db"))
    (tmp_path / "log").rmdir()
    with pytest.raises(HomeError):
        log.append(delivery(1, LARGE))


def test_a_full_disk_says_so_and_leaves_the_log_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled(tmp_path, 2, rows=LARGE)
    monkeypatch.setattr(Path, "replace", raise_no_room)
    with pytest.raises(DiskFullError) as caught:
        log.append(delivery(3, LARGE))
    assert caught.value.code == "DISK_FULL"
    assert numbers(log) == [1, 2]
    assert len(files(tmp_path)) == 2


def raise_no_room(*_: object) -> None:
    raise OSError(28, "No space left on device")


# -- what tasks wrote ------------------------------------------------------------------------


def written(directory: Path, number: int, *, pieces: int = 3) -> tuple[list[Path], pa.Table]:
    """Return files that tasks wrote, and their rows; in a file no column says that it has none."""
    rows = pa.table({"n": pa.array([number] * 6, pa.int32()), "i": pa.array(range(6), pa.int64())})
    size = -(-6 // pieces)
    cuts = [rows.slice(at, size) for at in range(0, 6, size)]
    return [write_parquet(cut, directory / "trains") for cut in cuts], rows


def test_files_that_tasks_wrote_are_kept_by_name_and_read_when_they_are_asked_for(
    tmp_path: Path,
) -> None:
    (tmp_path / "log").mkdir()
    log = filled(tmp_path / "log", 1)
    paths, rows = written(tmp_path, 2)
    log.append_files(2, 6, paths, rows.schema)
    log.append_files(2, 6, paths, rows.schema)
    for path in paths:
        path.unlink()  # the train is read and gone
    assert [one.rows for one in log.read_after(1)] == [rows]
    assert log.last == 2
    again = opened(tmp_path / "log")
    assert [one.rows for one in again.read_after(1)] == [rows]
    assert len(files(tmp_path / "log")) == len(paths)
    again.clear()
    assert files(tmp_path / "log") == []


def test_of_files_that_a_death_left_half_linked_nothing_is_read(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    paths, rows = written(tmp_path, 1)
    log = opened(tmp_path / "log")
    log.append_files(1, 6, paths, rows.schema)
    (tmp_path / "log" / files(tmp_path / "log")[0]).unlink()
    assert numbers(opened(tmp_path / "log")) == []
    # The index was lost before it knew of the files: nobody can say what they are.
    log = ResultLog(tmp_path / "log", "query", ResultIndex(tmp_path / "other.db"))
    assert (log.last, files(tmp_path / "log")) == (0, [])
    log.append_files(1, 6, paths, rows.schema)
    assert [one.rows for one in log.read_after(0)] == [rows]


def test_large_deliveries_go_when_there_are_too_many(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    log = opened(tmp_path / "log", keep_bytes=2 * FILE)
    for number in (1, 2, 3):
        paths, rows = written(tmp_path, number, pieces=2)
        log.append_files(number, 6, paths, rows.schema)
    assert log.last == 3
    assert 1 not in numbers(log)
    assert log.rows_gone(1, 2) == 6
    log.forget_above(0)
    assert files(tmp_path / "log") == []
