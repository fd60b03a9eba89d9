import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock
from penstock.errors import ClosedError, DiskFullError, HomeError
from penstock.runtime.durable.journal_sqlite import SqliteJournal

SOURCE = Path(penstock.__file__).parents[1]

# Records without end, from where the journal stands, and tells each one once it is acknowledged.
WRITER = """
import os, sys
from pathlib import Path
from penstock.runtime.durable.journal_sqlite import SqliteJournal

journal = SqliteJournal(Path(sys.argv[1]))
done = max([journal.checkpoint(n).manifest["done"] for n in journal.checkpoints()], default=0)
number = max([run.number for run in journal.runs_after("unit", 0)], default=done)
cut = max([train.number for train in journal.trains_after("traffic", 0)], default=done)
while True:
    number += 1
    if number > cut:
        journal.record_train("traffic", number, {"to": number}, 0.0)
    with journal.together():
        journal.record_run("unit", number, {"traffic": (number, number)})
        journal.record_delivery("query", number, 2)
    if number % 7 == 0:
        journal.write_checkpoint(
            {"done": number}, trains={"traffic": number}, runs={"unit": number}
        )
    os.write(1, b"%d\\n" % number)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "penstock-test", str(disk)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only root, where mounting is allowed, can make a tiny disk")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_journal_survives_closing(path: Path) -> None:
    journal = SqliteJournal(path)
    journal.record_train("traffic", 1, {"to": 5}, 0.5)
    journal.write_checkpoint({"a": 1}, trains={}, runs={})
    journal.close()
    again = SqliteJournal(path)
    assert [train.boundary for train in again.trains_after("traffic", 0)] == [{"to": 5}]
    assert [again.checkpoint(each).manifest for each in again.checkpoints()] == [{"a": 1}]
    again.close()


def test_closing_twice_is_no_error(path: Path) -> None:
    journal = SqliteJournal(path)
    journal.close()
    journal.close()


def test_a_journal_that_is_closed_says_so(path: Path) -> None:
    journal = SqliteJournal(path)
    journal.close()
    with pytest.raises(ClosedError):
        journal.record_train("traffic", 1, {}, 0.0)


def test_a_kill_at_any_point_loses_nothing_that_was_acknowledged(path: Path) -> None:
    chance = random.Random(20)
    acknowledged = 0
    for _ in range(25):
        acknowledged = max(acknowledged, killed_after(path, chance.randrange(0, 60)))
        journal = SqliteJournal(path)
        assert_is_whole(journal, acknowledged)
        journal.close()
    assert acknowledged > 100


def killed_after(path: Path, lines: int) -> int:
    """Run the writer, kill it some time after that many lines, return what it acknowledged."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as writer:
        assert writer.stdout is not None
        told = [writer.stdout.readline() for _ in range(lines)]
        writer.send_signal(signal.SIGKILL)
        told += writer.stdout.readlines()
    whole = [line for line in told if line.endswith(b"\n")]
    return int(whole[-1]) if whole else 0


def assert_is_whole(journal: SqliteJournal, acknowledged: int) -> None:
    """Check that the journal holds everything that was acknowledged, and at most one step more."""
    done = max((journal.checkpoint(n).manifest["done"] for n in journal.checkpoints()), default=0)
    trains = [train.number for train in journal.trains_after("traffic", 0)]
    runs = [run.number for run in journal.runs_after("unit", 0)]
    assert trains == list(range(done + 1, done + 1 + len(trains)))
    assert runs == list(range(done + 1, done + 1 + len(runs)))
    end = done + len(runs)
    assert acknowledged <= end
    assert len(trains) - len(runs) in {0, 1}  # a train is recorded before its run
    assert (journal.last_delivery("query"), journal.delivered_rows("query")) == (end, 2 * end)


def test_a_full_disk_leaves_a_journal_that_reads_and_goes_on(tiny_disk: Path) -> None:
    journal = SqliteJournal(tiny_disk / "journal.db")
    recorded = record_until_full(journal)
    assert recorded > 10
    assert numbers(journal) == list(range(1, recorded + 1))
    journal.close()
    again = SqliteJournal(tiny_disk / "journal.db")
    assert numbers(again) == list(range(1, recorded + 1))
    again.close()


def test_a_journal_goes_on_once_a_full_disk_has_room_again(tiny_disk: Path) -> None:
    filler = tiny_disk / "filler"
    filler.write_bytes(bytes(64 << 10))
    journal = SqliteJournal(tiny_disk / "journal.db")
    recorded = record_until_full(journal)
    filler.unlink()
    journal.record_train("traffic", recorded + 1, {}, 0.0)
    assert numbers(journal) == list(range(1, recorded + 2))
    journal.close()


def test_a_disk_without_room_for_a_journal_says_so(tiny_disk: Path) -> None:
    with pytest.raises(OSError, match="No space"):
        (tiny_disk / "filler").write_bytes(bytes(1 << 20))
    with pytest.raises(DiskFullError) as caught:
        SqliteJournal(tiny_disk / "journal.db")
    assert caught.value.code == "DISK_FULL"


def test_a_file_that_may_not_grow_counts_as_a_full_disk(path: Path) -> None:
    journal = bounded_journal(path, pages=12)
    recorded = record_until_full(journal)
    assert numbers(journal) == list(range(1, recorded + 1))
    journal.close()
    again = SqliteJournal(path)
    assert numbers(again) == list(range(1, recorded + 1))
    again.close()


def test_a_step_that_met_a_full_disk_holds_nothing_even_if_the_error_is_caught(path: Path) -> None:
    journal = bounded_journal(path, pages=12)
    journal.record_delivery("query", 1, 1)

    def step() -> None:
        with journal.together():
            journal.record_delivery("query", 2, 1)
            record_until_full(journal)
            with pytest.raises(DiskFullError):
                journal.record_delivery("query", 3, 1)

    with pytest.raises(DiskFullError):
        step()
    assert journal.last_delivery("query") == 1
    assert numbers(journal) == []
    journal.record_delivery("query", 2, 1)
    journal.close()


def test_a_file_that_is_no_journal_is_refused(path: Path) -> None:
    path.write_bytes(b"this is no database, and long enough to look at" * 100)
    with pytest.raises(HomeError) as caught:
        SqliteJournal(path)
    assert caught.value.code == "BAD_HOME"


def test_a_damaged_journal_is_refused(path: Path) -> None:
    journal = SqliteJournal(path)
    for number in range(1, 500):
        journal.record_train("traffic", number, {"filler": "x" * 100}, 0.0)
    journal.close()
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 6] = os.urandom(4096 * 3)
    path.write_bytes(content)
    with pytest.raises(HomeError) as caught:
        SqliteJournal(path)
    assert caught.value.code == "BAD_HOME"


def test_a_journal_of_a_newer_penstock_is_refused(path: Path) -> None:
    SqliteJournal(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(HomeError) as caught:
        SqliteJournal(path)
    assert "99" in caught.value.message


def test_a_journal_in_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HomeError):
        SqliteJournal(tmp_path / "gone" / "journal.db")


def test_a_checkpoint_is_on_disk_once_its_step_ends(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = SqliteJournal(path)
    synced: list[str] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    journal.record_train("traffic", 1, {}, 0.0)
    assert synced == []
    journal.write_checkpoint({}, trains={}, runs={})
    assert synced == ["journal.db-wal", path.parent.name]
    with journal.together():
        journal.write_checkpoint({}, trains={}, runs={})
        journal.record_train("traffic", 2, {}, 0.0)
        assert len(synced) == 2
    assert synced[2:] == ["journal.db-wal"]  # the directory knows its name by now
    journal.record_train("traffic", 3, {}, 0.0)
    assert len(synced) == 3
    journal.close()


@pytest.mark.parametrize(("sync", "level"), [(False, 1), (True, 2)])
def test_records_wait_for_the_disk_where_that_is_asked(path: Path, sync: bool, level: int) -> None:
    journal = SqliteJournal(path, sync=sync)
    assert journal._file.number("PRAGMA synchronous") == level
    journal.close()


def bounded_journal(path: Path, *, pages: int) -> SqliteJournal:
    """Return a journal whose file may not grow beyond so many pages."""
    journal = SqliteJournal(path)
    journal._file.rows(f"PRAGMA max_page_count = {pages}")
    return journal


def record_until_full(journal: SqliteJournal) -> int:
    """Record trains until there is no room, and return the last number that was taken."""
    taken = []

    def record() -> None:
        for number in range(1, 100_000):
            journal.record_train("traffic", number, {"filler": "x" * 500}, 0.0)
            taken.append(number)

    with pytest.raises(DiskFullError) as caught:
        record()
    assert caught.value.code == "DISK_FULL"
    return len(taken)


def numbers(journal: SqliteJournal) -> list[int]:
    return [train.number for train in journal.trains_after("traffic", 0)]
