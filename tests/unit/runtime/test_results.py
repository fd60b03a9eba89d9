from pathlib import Path

import pyarrow as pa
import pytest

from penstock.engine.sinks.sink import Delivery
from penstock.errors import DiskFullError, HomeError
from penstock.runtime import results
from penstock.runtime.results import ResultLog

FILE = 4096  # what one small delivery takes


def delivery(number: int, rows: int = 2) -> Delivery:
    table = pa.table({"n": pa.array([number] * rows, pa.int64()), "i": list(range(rows))})
    return Delivery("query", number, table)


def filled(directory: Path, count: int, *, keep: int = 1000) -> ResultLog:
    log = ResultLog(directory, "query", keep_bytes=keep * FILE)
    for number in range(1, count + 1):
        log.append(delivery(number))
    return log


def numbers(log: ResultLog, after: int = 0) -> list[int]:
    return [one.number for one in log.read_after(after)]


def test_an_empty_log_reaches_back_to_the_first_delivery(tmp_path: Path) -> None:
    log = ResultLog(tmp_path, "query")
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
    log = ResultLog(tmp_path, "query")
    log.append(delivery(1, rows=0))
    assert list(log.read_after(0)) == [delivery(1, rows=0)]


def test_a_log_is_found_again(tmp_path: Path) -> None:
    filled(tmp_path, 12, keep=5)
    log = ResultLog(tmp_path, "query", keep_bytes=5 * FILE)
    assert (log.first, log.last) == (8, 12)
    assert numbers(log) == [8, 9, 10, 11, 12]


def test_the_oldest_go_when_the_bound_is_reached(tmp_path: Path) -> None:
    log = filled(tmp_path, 100, keep=10)
    assert (log.first, log.last) == (91, 100)
    assert len(list(tmp_path.iterdir())) == 10
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 10 * FILE


def test_the_newest_is_kept_whatever_its_size(tmp_path: Path) -> None:
    log = ResultLog(tmp_path, "query", keep_bytes=1)
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
    log = ResultLog(tmp_path, "query")
    log.append(delivery(58))
    assert (log.first, log.last) == (58, 58)


def test_reading_sees_what_comes_meanwhile_and_gets_over_what_goes(tmp_path: Path) -> None:
    log = filled(tmp_path, 5, keep=5)
    reading = log.read_after(0)
    assert next(reading).number == 1
    for number in range(6, 10):
        log.append(delivery(number))
    assert [one.number for one in reading] == [5, 6, 7, 8, 9]


def test_it_knows_how_many_rows_are_gone_until_it_is_opened_again(tmp_path: Path) -> None:
    log = filled(tmp_path, 10, keep=5)
    assert log.rows_gone(1, 6) == 10
    assert log.rows_gone(4, 6) == 4
    assert log.rows_gone(4, 7) is None
    assert ResultLog(tmp_path, "query").rows_gone(4, 6) is None


def test_it_remembers_only_so_many_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "REMEMBERED", 3)
    log = filled(tmp_path, 10, keep=5)
    assert log.rows_gone(3, 6) == 6
    assert log.rows_gone(2, 6) is None


@pytest.mark.parametrize("damage", [b"", b"ARROW1 and then nothing"])
def test_a_file_that_a_power_cut_spoiled_counts_as_removed(tmp_path: Path, damage: bytes) -> None:
    filled(tmp_path, 4)
    next(tmp_path.glob("*2-2.arrow")).write_bytes(damage)
    log = ResultLog(tmp_path, "query")
    assert numbers(log) == [1, 3, 4]
    assert log.rows_gone(2, 3) == 2
    log.append(delivery(2))
    assert numbers(log) == [1, 2, 3, 4]


def test_what_a_killed_process_left_half_written_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".0000000001-2.arrow.new").write_bytes(b"half")
    (tmp_path / "stranger").touch()
    assert numbers(ResultLog(tmp_path, "query")) == []
    assert [path.name for path in tmp_path.iterdir()] == ["stranger"]


def test_clearing_removes_everything(tmp_path: Path) -> None:
    log = filled(tmp_path, 4)
    log.clear()
    assert list(tmp_path.iterdir()) == []
    assert (log.first, log.last) == (1, 0)
    log.append(delivery(1))
    assert numbers(log) == [1]


def test_a_place_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HomeError) as caught:
        ResultLog(tmp_path / "file", "query")
    assert caught.value.code == "BAD_HOME"


def test_a_log_whose_directory_is_gone_says_so(tmp_path: Path) -> None:
    log = ResultLog(tmp_path / "log", "query")
    (tmp_path / "log").rmdir()
    with pytest.raises(HomeError):
        log.append(delivery(1))


def test_a_full_disk_says_so_and_leaves_the_log_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled(tmp_path, 2)
    monkeypatch.setattr(Path, "replace", raise_no_room)
    with pytest.raises(DiskFullError) as caught:
        log.append(delivery(3))
    assert caught.value.code == "DISK_FULL"
    assert numbers(log) == [1, 2]
    assert len(list(tmp_path.iterdir())) == 2


def raise_no_room(*_: object) -> None:
    raise OSError(28, "No space left on device")
