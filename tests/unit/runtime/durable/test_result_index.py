from pathlib import Path

import pytest

from penstock.errors import ClosedError, DiskFullError, HomeError
from penstock.runtime.durable.result_index import GONE, IN_FILE, IndexedDelivery, ResultIndex


@pytest.fixture
def result_index(tmp_path: Path) -> ResultIndex:
    return ResultIndex(tmp_path / "shelf.db")


def test_what_is_put_there_is_found_by_its_number(
    result_index: ResultIndex, tmp_path: Path
) -> None:
    result_index.put("q", IndexedDelivery(3, 2, 4096, body=b"abc"))
    result_index.put("q", IndexedDelivery(5, 7, 8192, IN_FILE))
    for each in (result_index, ResultIndex(tmp_path / "shelf.db")):
        assert each.next("q", 0) == IndexedDelivery(3, 2, 4096, body=b"abc")
        assert each.next("q", 3) == IndexedDelivery(5, 7, 8192, IN_FILE)
        assert each.next("q", 5) is None
        assert (each.following("q", 3), each.following("q", 5)) == (5, 0)
        assert each.extent("q") == (3, 5, 12288)
        assert each.extent("another") is None


def test_of_what_was_let_go_only_the_count_is_known_until_that_is_forgotten(
    result_index: ResultIndex,
) -> None:
    for number in (1, 2, 3):
        result_index.put("q", IndexedDelivery(number, 10 * number, 4096, body=b"x" * 1000))
    result_index.let_go("q", 1)
    result_index.let_go("q", 2)
    assert result_index.find("q", 2) == IndexedDelivery(2, 20, 0, GONE)
    assert result_index.next("q", 0) == IndexedDelivery(3, 30, 4096, body=b"x" * 1000)
    assert result_index.gone("q", 1, 4) == (2, 30)
    result_index.forget("q", 2)
    assert result_index.gone("q", 1, 4) == (1, 20)
    result_index.put("q", IndexedDelivery(2, 20, 4096, body=b"again"))
    assert result_index.next("q", 0) == IndexedDelivery(2, 20, 4096, body=b"again")
    result_index.forget("q")
    assert result_index.extent("q") is None
    assert result_index._rows("SELECT * FROM bodies") == []


def test_after_it_is_closed_it_can_still_be_read(result_index: ResultIndex) -> None:
    result_index.put("q", IndexedDelivery(1, 1, 4096, body=b"abc"))
    result_index.close()
    assert result_index.next("q", 0) == IndexedDelivery(1, 1, 4096, body=b"abc")
    with pytest.raises(ClosedError):
        result_index.put("q", IndexedDelivery(2, 1, 4096, body=b"abc"))


def test_a_full_disk_says_so_and_leaves_all_as_it_was(result_index: ResultIndex) -> None:
    result_index.put("q", IndexedDelivery(1, 1, 4096, body=b"abc"))
    result_index._file.execute("PRAGMA max_page_count = 8")
    with pytest.raises(DiskFullError):
        result_index.put("q", IndexedDelivery(2, 1, 65536, body=b"x" * 65536))
    assert result_index.extent("q") == (1, 1, 4096)
    result_index.put("q", IndexedDelivery(2, 1, 4096, body=b"x"))
    assert result_index.extent("q") == (1, 2, 8192)


def test_a_file_that_is_damaged_says_what_may_be_done(tmp_path: Path) -> None:
    (tmp_path / "shelf.db").write_bytes(b"something else" * 1000)
    with pytest.raises(HomeError) as caught:
        ResultIndex(tmp_path / "shelf.db")
    assert "removed" in caught.value.hint
