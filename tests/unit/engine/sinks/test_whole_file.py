import os
from pathlib import Path

import pytest

from penstock.engine.sinks.whole_file import write_whole
from penstock.errors import DiskFullError


@pytest.mark.parametrize("sync", [True, False])
def test_a_file_is_put_in_place_of_what_was(tmp_path: Path, sync: bool) -> None:
    path = tmp_path / "part"
    write_whole(path, b"one", sync=sync)
    write_whole(path, b"two", sync=sync)
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "part"
    write_whole(path, b"one", sync=True)
    monkeypatch.setattr(os, "fsync", raise_no_room)
    with pytest.raises(DiskFullError) as caught:
        write_whole(path, b"two", sync=True)
    assert caught.value.code == "DISK_FULL"
    assert path.read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [path]


def test_other_trouble_is_left_to_the_caller(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "gone" / "part", b"", sync=True)


def raise_no_room(_: int) -> None:
    raise OSError(28, "No space left on device")
