from pathlib import Path

import pytest

from penstock.errors import ClosedError, DiskFullError, HomeError
from penstock.runtime.durable.shelf import GONE, IN_FILE, ResultShelf, Shelved


@pytest.fixture
def shelf(tmp_path: Path) -> ResultShelf:
    return ResultShelf(tmp_path / "shelf.db")


def test_what_is_put_there_is_found_by_its_number(shelf: ResultShelf, tmp_path: Path) -> None:
    shelf.put("q", Shelved(3, 2, 4096, body=b"abc"))
    shelf.put("q", Shelved(5, 7, 8192, IN_FILE))
    for each in (shelf, ResultShelf(tmp_path / "shelf.db")):
        assert each.next("q", 0) == Shelved(3, 2, 4096, body=b"abc")
        assert each.next("q", 3) == Shelved(5, 7, 8192, IN_FILE)
        assert each.next("q", 5) is None
        assert (each.following("q", 3), each.following("q", 5)) == (5, 0)
        assert each.extent("q") == (3, 5, 12288)
        assert each.extent("another") is None


def test_of_what_was_let_go_only_the_count_is_known_until_that_is_forgotten(
    shelf: ResultShelf,
) -> None:
    for number in (1, 2, 3):
        shelf.put("q", Shelved(number, 10 * number, 4096, body=b"x" * 1000))
    shelf.let_go("q", 1)
    shelf.let_go("q", 2)
    assert shelf.find("q", 2) == Shelved(2, 20, 0, GONE)
    assert shelf.next("q", 0) == Shelved(3, 30, 4096, body=b"x" * 1000)
    assert shelf.gone("q", 1, 4) == (2, 30)
    shelf.forget("q", 2)
    assert shelf.gone("q", 1, 4) == (1, 20)
    shelf.put("q", Shelved(2, 20, 4096, body=b"again"))
    assert shelf.next("q", 0) == Shelved(2, 20, 4096, body=b"again")
    shelf.forget("q")
    assert shelf.extent("q") is None
    assert shelf._rows("SELECT * FROM bodies") == []


def test_after_it_is_closed_it_can_still_be_read(shelf: ResultShelf) -> None:
    shelf.put("q", Shelved(1, 1, 4096, body=b"abc"))
    shelf.close()
    assert shelf.next("q", 0) == Shelved(1, 1, 4096, body=b"abc")
    with pytest.raises(ClosedError):
        shelf.put("q", Shelved(2, 1, 4096, body=b"abc"))


def test_a_full_disk_says_so_and_leaves_all_as_it_was(shelf: ResultShelf) -> None:
    shelf.put("q", Shelved(1, 1, 4096, body=b"abc"))
    shelf._file.execute("PRAGMA max_page_count = 8")
    with pytest.raises(DiskFullError):
        shelf.put("q", Shelved(2, 1, 65536, body=b"x" * 65536))
    assert shelf.extent("q") == (1, 1, 4096)
    shelf.put("q", Shelved(2, 1, 4096, body=b"x"))
    assert shelf.extent("q") == (1, 2, 8192)


def test_a_file_that_is_damaged_says_what_may_be_done(tmp_path: Path) -> None:
    (tmp_path / "shelf.db").write_bytes(b"something else" * 1000)
    with pytest.raises(HomeError) as caught:
        ResultShelf(tmp_path / "shelf.db")
    assert "removed" in caught.value.hint
