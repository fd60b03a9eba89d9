import pyarrow as pa

from penstock.engine.sites import recent
from penstock.engine.sites.recent import ENOUGH, EVERY_SECONDS, Recent


def _items(first: int, count: int, size: int = 8) -> pa.Table:
    return pa.table({"n": range(first, first + count), "x": [b"." * size] * count})


def test_small_runs_gather_until_there_is_enough() -> None:
    kept = Recent()
    for number in range(ENOUGH):
        kept.see(_items(number, 1), 0.0)
    kept.see(_items(1000, 1), 0.0)  # too soon
    assert kept.table is not None
    assert kept.table["n"].to_pylist() == list(range(ENOUGH))
    kept.see(_items(1000, 1), EVERY_SECONDS)
    assert kept.table["n"].to_pylist()[-1] == 1000
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


def test_one_item_is_kept_however_large_it_is() -> None:
    kept = Recent()
    kept.see(_items(0, 2, 2 * recent.MOST_BYTES), 0.0)
    assert kept.table is not None
    assert kept.table["n"].to_pylist() == [1]
