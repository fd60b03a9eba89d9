"""One stream's archive: whole files, each train once, nothing younger than the interval goes."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.trains.buffers import Train
from penstock.engine.trains.rows import in_memory, read_parquet
from penstock.model.definitions import Connector, StreamDefinition
from penstock.model.trains import TrainInfo
from penstock.runtime.sources.archive import MERGE_FILES, Archive, covers, give_up
from tests.examples import examples
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import SCHEMA, table


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def archive_at(
    directory: Path, *, keep: int = 1000, timed: bool = True, merge_files: int = MERGE_FILES
) -> Archive:
    definition = StreamDefinition(
        "s",
        SCHEMA,
        Connector("twin"),
        "ts" if timed else None,
        archive_for=timedelta(microseconds=keep),
    )
    return Archive("s", definition, directory, merge_files)


def train(number: int, *rows: int, arrived: float = 0.0) -> Train:
    held = in_memory(table(rows))
    span = (min(rows), max(rows)) if rows else (None, None)
    return Train(TrainInfo(number, len(rows), held.memory_bytes, arrived, *span), held)


def kept(archive: Archive) -> list[int]:
    paths = [piece.path for piece in archive.pieces()]
    return list(read_parquet(paths, SCHEMA)["n"].to_pylist())


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_each_train_is_one_file_and_an_empty_one_is_none(tmp_path: Path) -> None:
    archive = archive_at(tmp_path)
    archive.write([train(1, 5, 3), train(2), train(3, 7)])
    assert names(tmp_path) == ["train-0000000001.parquet", "train-0000000003.parquet"]
    assert kept(archive) == [5, 3, 7]
    assert (archive.rows, archive.complete_from) == (3, 3)
    assert archive.size == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_the_same_number_again_changes_nothing(tmp_path: Path) -> None:
    archive = archive_at(tmp_path)
    archive.write([train(1, 5)])
    before = (tmp_path / "train-0000000001.parquet").read_bytes()
    archive.write([train(1, 5)])
    assert (tmp_path / "train-0000000001.parquet").read_bytes() == before
    assert archive.rows == 1


def test_what_was_written_is_there_in_another_life(tmp_path: Path) -> None:
    archive_at(tmp_path).write([train(1, 5), train(2, 9)])
    (tmp_path / ".train-0000000003.parquet.tmp").write_bytes(b"half")
    again = archive_at(tmp_path)
    assert (kept(again), again.complete_from) == ([5, 9], 5)
    assert len(names(tmp_path)) == 2


TRAINS = st.lists(st.lists(st.integers(0, 60), max_size=4), max_size=12)


@given(TRAINS, st.integers(0, 40), st.integers(0, 12))
@settings(deadline=None, max_examples=examples(60))
def test_a_file_goes_once_all_of_it_is_too_old_and_history_says_from_when_it_is_whole(
    tmp_path_factory: pytest.TempPathFactory, trains: list[list[int]], keep: int, reopened: int
) -> None:
    directory = tmp_path_factory.mktemp("archive")
    archive = archive_at(directory, keep=keep)
    for number, rows in enumerate(trains, 1):
        if number == reopened:
            archive = archive_at(directory, keep=keep)
        archive.write([train(number, *rows)])
    given_ = [row for rows in trains for row in rows]
    there, latest = kept(archive), max(given_, default=0)
    assert [row for row in there if row >= latest - keep] == [
        row for row in given_ if row >= latest - keep
    ]
    begins = archive.complete_from
    if begins is not None:
        assert begins <= max(latest - keep, min(given_))
        assert [r for r in there if r >= begins] == [r for r in given_ if r >= begins]
    else:
        assert given_ == []


def test_without_event_time_arrival_counts(tmp_path: Path) -> None:
    archive = archive_at(tmp_path, keep=10_000_000, timed=False)
    archive.write([train(1, 1, arrived=100.0), train(2, 2, arrived=105.0)])
    assert kept(archive) == [1, 2]
    archive.write([train(3, 3, arrived=111.0)])
    assert (kept(archive), archive.complete_from) == ([2, 3], 100_000_001)


def test_files_stay_while_somebody_reads_them(tmp_path: Path) -> None:
    archive = archive_at(tmp_path, keep=10)
    archive.write([train(1, 1)])
    with archive.reading() as pieces:
        archive.write([train(2, 50)])
        assert kept(archive) == [50]
        assert read_parquet([piece.path for piece in pieces], SCHEMA)["n"].to_pylist() == [1]
    assert names(tmp_path) == ["gone.json", "train-0000000002.parquet"]


@given(TRAINS, st.integers(2, 5), st.integers(0, 12))
@settings(deadline=None, max_examples=examples(60))
def test_small_files_are_merged_as_far_as_nobody_asks_for_their_trains(
    tmp_path_factory: pytest.TempPathFactory, trains: list[list[int]], together: int, safe: int
) -> None:
    directory = tmp_path_factory.mktemp("archive")
    archive = archive_at(directory, merge_files=together)
    archive.safe = safe
    for number, rows in enumerate(trains, 1):
        archive.write([train(number, *rows)])
    given_ = [row for rows in trains for row in rows]
    assert kept(archive) == given_
    single = [piece for piece in archive.pieces() if piece.first == piece.last]
    assert sum(piece.last <= safe for piece in single) < together
    assert all(piece.last <= safe for piece in archive.pieces() if piece not in single)
    assert archive_at(directory).pieces() == archive.pieces()
    pieces = archive.pieces()
    assert all(covers(pieces, n) for n, rows in enumerate(trains, 1) if rows)
    assert not covers(pieces, len(trains) + 1)
    assert len(names(directory)) == len(pieces)


def test_what_a_merged_file_covers_goes_after_a_death_between_the_two(tmp_path: Path) -> None:
    archive = archive_at(tmp_path)
    archive.write([train(1, 1), train(2, 2)])
    whole = pa.concat_tables([table([1]), table([2])])
    archive._put(whole, (1, 2), (1, 2))
    again = archive_at(tmp_path)
    assert (kept(again), names(tmp_path)) == ([1, 2], ["train-0000000001-0000000002.parquet"])


def test_trains_that_the_journal_lost_go(tmp_path: Path) -> None:
    archive = archive_at(tmp_path)
    archive.write([train(1, 1), train(2, 2), train(3, 3)])
    archive.forget_after(2)
    assert (kept(archive), kept(archive_at(tmp_path))) == ([1, 2], [1, 2])


@pytest.mark.parametrize("size", range(0, 600, 7))
def test_a_truncated_file_is_told_and_the_others_are_kept(tmp_path: Path, size: int) -> None:
    archive_at(tmp_path).write([train(1, 1), train(2, 2), train(3, 3)])
    damaged = tmp_path / "train-0000000002.parquet"
    damaged.write_bytes(damaged.read_bytes()[:size])
    archive = archive_at(tmp_path)
    assert archive.damaged == [damaged]
    assert str(damaged) in archive.trouble
    assert kept(archive) == [1, 3]
    assert archive.complete_from == 3
    archive.write([train(4, 4)])
    assert kept(archive) == [1, 3, 4]
    assert damaged.exists()


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"until": "x"}', b"\xff"])
def test_a_damaged_note_of_what_is_gone_is_told(tmp_path: Path, body: bytes) -> None:
    archive_at(tmp_path).write([train(1, 1)])
    (tmp_path / "gone.json").write_bytes(body)
    assert archive_at(tmp_path).trouble


def test_a_file_whose_rows_are_damaged_is_left_out_when_files_are_merged(tmp_path: Path) -> None:
    archive = archive_at(tmp_path, merge_files=3)
    archive.write([train(1, 1), train(2, 2), train(3, 3)])
    path = tmp_path / "train-0000000002.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:8] + bytes(byte ^ 0xFF for byte in whole[8:40]) + whole[40:])
    archive.safe = 3
    archive.write([train(4, 4)])
    assert archive.damaged == [path]
    archive.to_disk()
    archive.write([train(5, 5)])
    assert [piece.first for piece in archive.pieces()] == [1, 3, 4, 5]


@pytest.mark.parametrize(("lost", "from_then"), [(1, 2), (2, 3), (3, 3)])
def test_what_is_given_up_is_not_called_complete(tmp_path: Path, lost: int, from_then: int) -> None:
    archive_at(tmp_path).write([train(1, 1), train(2, 2), train(3, 3)])
    damaged = tmp_path / f"train-000000000{lost}.parquet"
    damaged.write_bytes(b"")
    give_up(damaged)
    damaged.unlink()
    archive = archive_at(tmp_path)
    assert archive.trouble == ""
    assert archive.complete_from == from_then
