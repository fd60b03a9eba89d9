import os
from pathlib import Path

import pytest

from penstock.engine.interfaces.formats.listing import FileListing, find, is_wanted, require
from penstock.errors import SourceError


def put(path: Path, *, mtime: int, text: str = "x") -> Path:
    path.write_text(text)
    os.utime(path, ns=(mtime, mtime))
    return path


def names(record: FileListing) -> list[str]:
    return [entry.path.name for entry in record.entries]


@pytest.mark.parametrize("name", [".hidden", "_SUCCESS", "a.tmp", "a.json.crc", "a.inprogress"])
def test_unfinished_and_hidden_files_are_not_wanted(name: str) -> None:
    assert not is_wanted(name)


def test_new_files_come_in_the_order_of_their_age_then_name(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    put(data / "z", mtime=1)
    put(data / "b", mtime=2)
    put(data / "a", mtime=2)
    record = FileListing(tmp_path / "record")
    record.look(str(data), 5.0)
    put(data / "0", mtime=0)
    record.look(str(data), 6.0)
    assert names(record) == ["z", "a", "b", "0"]
    assert [entry.found for entry in record.entries] == [5.0, 5.0, 5.0, 6.0]


def test_a_file_counts_once_though_it_changes(tmp_path: Path) -> None:
    file = put(tmp_path / "a", mtime=1)
    record = FileListing(tmp_path / ".record")
    record.look(str(file), 0.0)
    put(file, mtime=2, text="more")
    record.look(str(file), 0.0)
    assert names(record) == ["a"]


def test_the_record_is_the_same_after_a_restart(tmp_path: Path) -> None:
    put(tmp_path / "a", mtime=1)
    first = FileListing(tmp_path / ".record")
    first.look(str(tmp_path), 0.0)
    put(tmp_path / "b", mtime=0)
    second = FileListing(tmp_path / ".record")
    assert second.entries == first.entries
    second.look(str(tmp_path), 0.0)
    assert names(second) == ["a", "b"]


def test_a_line_that_a_crash_cut_short_is_written_again(tmp_path: Path) -> None:
    for name in ("a", "b"):
        put(tmp_path / name, mtime=ord(name))
    path = tmp_path / ".record"
    FileListing(path).look(str(tmp_path), 0.0)
    whole = path.read_bytes()
    first_line = whole.index(b"\n") + 1
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        record = FileListing(path)
        assert len(record.entries) == (1 if size >= first_line else 0)
        record.look(str(tmp_path), 0.0)
        assert path.read_bytes() == whole


def test_a_sealed_record_stays_sealed(tmp_path: Path) -> None:
    record = FileListing(tmp_path / "record")
    assert not record.sealed
    record.seal()
    assert FileListing(tmp_path / "record").sealed


def test_a_pattern_finds_its_matches(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for name in ("d/a.json", "d/b.csv", "c.json", "_d.json"):
        put(tmp_path / name, mtime=1)
    assert find(str(tmp_path / "*.json")) == [str(tmp_path / "c.json")]
    assert set(find(str(tmp_path / "**" / "*.json"))) == {
        str(tmp_path / "c.json"),
        str(tmp_path / "d" / "a.json"),
    }


def test_a_file_with_brackets_in_its_name_is_no_pattern(tmp_path: Path) -> None:
    file = put(tmp_path / "a[1].json", mtime=1)
    assert find(str(file)) == [str(file)]


@pytest.mark.parametrize("path", ["gone", "gone/*.json", "gone/deep/file.json"])
def test_a_path_that_is_not_there_is_an_error(tmp_path: Path, path: str) -> None:
    with pytest.raises(SourceError) as raised:
        require(str(tmp_path / path))
    assert raised.value.code == "SOURCE_FAILED"
    assert raised.value.hint


def test_an_empty_directory_and_a_pattern_without_matches_are_none(tmp_path: Path) -> None:
    require(str(tmp_path))
    require(str(tmp_path / "*.json"))
    assert find(str(tmp_path)) == []


def test_a_directory_that_goes_away_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        find(str(tmp_path / "gone"))
