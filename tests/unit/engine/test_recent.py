import pyarrow as pa

from penstock.engine.workers import recent
from penstock.engine.workers.recent import ENOUGH, EVERY_SECONDS, FEW, MOST_PARTS, Recent


def _items(first: int, count: int, size: int = 8) -> pa.Table:
    return pa.table({"n": range(first, first + count), "x": [b"." * size] * count})


def test_small_runs_gather_until_there_is_enough() -> None:
    kept = Recent()
    for number in range(ENOUGH):
        kept.see(_items(number, 1), 0.0)
    kept.see(_items(1000, 100), 1.0)  # too soon for all of them
    assert kept.table is not None
    assert kept.table["n"].to_pylist() == [*range(ENOUGH), *range(1100 - FEW, 1100)]
    kept.see(_items(2000, 100), EVERY_SECONDS)
    assert kept.table["n"].to_pylist()[-100:] == list(range(2000, 2100))
    kept.see(_items(0, 0), 100.0)
    assert kept.at == EVERY_SECONDS


def test_the_latest_stay_within_the_bound_and_are_copies() -> None:
    kept, big = Recent(), _items(0, 100, recent.MOST_BYTES // 10)
    kept.see(big, 0.0)
    assert kept.table is not None
    found = kept.table["n"].to_pylist()
    assert found == list(range(100 - len(found), 100))
    assert 0 < kept.table.nbytes <= recent.MOST_BYTES
    assert kept.table["x"].chunk(0).buffers()[2].size <= 2 * recent.MOST_BYTES


def test_what_is_kept_stays_within_the_bound_as_runs_come_and_go() -> None:
    kept = Recent()
    for number in range(2 * MOST_PARTS):
        size = recent.MOST_BYTES // 7 if number % 50 == 0 else 8
        kept.see(_items(10 * number, 10, size), number / 10)
        assert kept.table is not None
        assert kept.table.nbytes <= recent.MOST_BYTES
        assert kept.table["n"].to_pylist()[-1] == 10 * number + 9
    assert len(kept.parts) <= MOST_PARTS


def test_what_has_little_room_for_more_is_not_copied_each_time() -> None:
    kept, big = Recent(), _items(0, 8, recent.MOST_BYTES // 8)
    kept.see(big, 0.0)
    kept.see(big, EVERY_SECONDS / 2)
    assert kept.at == 0.0
    kept.see(big, EVERY_SECONDS)
    assert kept.at == EVERY_SECONDS


def test_one_item_is_kept_however_large_it_is() -> None:
    kept = Recent()
    kept.see(_items(0, 2, 2 * recent.MOST_BYTES), 0.0)
    assert kept.table is not None
    assert kept.table["n"].to_pylist() == [1]
