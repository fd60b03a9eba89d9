"""Where the partials of a state lie: by what has come, and by what closes."""

from penstock.engine.states.parts import Part
from penstock.engine.states.windows.partitioned import Place
from penstock.engine.trains.rows import Rows
from penstock.engine.trains.train_files import LargeBound

BOUND = LargeBound(100, 1 << 20)
LARGE, LEAVING = Place(8, True), Place(8, False)


def part(rows: int, partitions: tuple[int, ...] = (), size: int = 0) -> Part:
    return Part(Rows(rows, None), 0, 9, partitions=partitions, size=size)


def test_a_state_is_large_above_the_bound_in_rows_or_in_bytes() -> None:
    assert Place().after([part(60), part(40)], None, BOUND) == Place()
    assert Place().after([part(60), part(41)], None, BOUND).is_large
    assert Place().after([part(60, size=1 << 21)], None, BOUND).is_large


def test_a_window_that_fills_up_anew_need_not_cross_the_bound_again() -> None:
    assert LARGE.after([part(1)], None, BOUND) == LARGE
    assert LARGE.after([part(1)], [part(51)], BOUND) == LARGE


def test_after_windows_with_few_partials_those_in_partitions_go_first() -> None:
    there = [part(5, (0, 3)), part(3)]
    assert LARGE.after(there, [part(50)], BOUND) == LEAVING
    assert LEAVING.after(there, None, BOUND) == LEAVING
    assert LEAVING.after([part(3)], None, BOUND) == Place()
    assert LEAVING.after([part(101)], None, BOUND) == LARGE
