import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.trains.buffers import Train
from penstock.engine.trains.rows import in_memory
from penstock.model.trains import TrainInfo
from penstock.runtime.work.train_groups import coalesced, ranges_of, recorded


def train(number: int, rows: int) -> Train:
    """Return a train of so many rows, each of ten bytes."""
    return Train(TrainInfo(number, rows, rows * 10, 0.0), in_memory(pa.table({"n": [0] * rows})))


def trains(sizes: list[int], first: int = 1) -> list[Train]:
    return [train(first + place, rows) for place, rows in enumerate(sizes)]


SIZES = st.lists(st.integers(0, 10), max_size=12)


@given(SIZES, st.integers(0, 20))
@settings(deadline=None)
def test_a_run_takes_the_longest_beginning_that_stays_within_the_limit(
    sizes: list[int], limit: int
) -> None:
    given_ = trains(sizes)
    taken = coalesced(given_, limit)
    assert taken == given_[: len(taken)]
    assert len(taken) >= min(1, len(sizes))
    if len(taken) > 1:
        assert sum(sizes[: len(taken)]) <= limit
    if len(taken) < len(sizes):
        assert sum(sizes[: len(taken) + 1]) > limit


@given(SIZES, st.integers(0, 20), st.integers(0, 200))
@settings(deadline=None)
def test_bytes_are_a_limit_as_rows_are(sizes: list[int], rows: int, size: int) -> None:
    assert coalesced(trains(sizes), rows, size) == coalesced(trains(sizes), min(rows, size // 10))


@given(SIZES, st.integers(1, 20))
@settings(deadline=None)
def test_runs_one_after_the_other_take_everything_once_and_in_order(
    sizes: list[int], limit: int
) -> None:
    left, taken = trains(sizes), []
    while left:
        run = coalesced(left, limit)
        taken += run
        left = left[len(run) :]
    assert taken == trains(sizes)


@given(SIZES, SIZES, st.integers(1, 9), st.integers(1, 20))
@settings(deadline=None)
def test_a_run_that_was_recorded_takes_the_same_trains_again(
    one: list[int], two: list[int], first: int, limit: int
) -> None:
    waiting = {"one": trains(one), "two": trains(two, first)}
    group = {name: coalesced(each, limit) for name, each in waiting.items() if each}
    assert recorded(waiting, ranges_of(group)) == group


@given(SIZES.filter(bool), st.data())
@settings(deadline=None)
def test_a_recorded_run_waits_until_all_its_trains_are_there(
    sizes: list[int], data: st.DataObject
) -> None:
    whole = trains(sizes)
    ranges = {"one": (1, len(sizes))}
    missing = data.draw(st.integers(0, len(sizes) - 1))
    assert recorded({"one": whole[:missing] + whole[missing + 1 :]}, ranges) is None
    assert recorded({}, ranges) is None
    assert recorded({"one": [*whole, train(len(sizes) + 1, 1)]}, ranges) == {"one": whole}


def test_a_run_over_nothing_is_recorded_as_such() -> None:
    assert ranges_of({}) == ranges_of({"one": []}) == {}
    assert recorded({"one": trains([1])}, {}) == {}
