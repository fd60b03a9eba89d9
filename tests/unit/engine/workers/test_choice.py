"""Where a flow runs: told, or where a byte took less time of late."""

from penstock.engine.workers.choice import SLOW_RUNS, TRY_AGAIN, TRY_SECONDS, CrossingCosts

SIZE = 1_000_000


def choice(branches: int = 2, slots: int = 2) -> CrossingCosts:
    """Return a choice after some long runs in the driver, one short of trying workers."""
    made = CrossingCosts("auto", branches, slots)
    made.took(7.0, SIZE, workers=False)
    for _ in range(SLOW_RUNS - 2):
        made.took(1.0, SIZE, workers=False)
    return made


def test_what_is_told_holds() -> None:
    assert CrossingCosts("workers", 1, 1).by_workers(SIZE)
    told = CrossingCosts("driver", 8, 8)
    told.took(100.0, SIZE, workers=False)
    assert not told.by_workers(SIZE)


def test_a_short_run_stays_in_the_driver() -> None:
    made = choice()
    assert not made.by_workers(SIZE)
    made.took(TRY_SECONDS / 2, SIZE, workers=False)
    for _ in range(SLOW_RUNS):
        assert not made.by_workers(SIZE)  # one that is slow by chance is none
        made.took(2 * TRY_SECONDS, SIZE, workers=False)
    assert made.by_workers(SIZE)


def test_nothing_stands_beside_a_single_branch_or_slot() -> None:
    for made in (choice(branches=1), choice(slots=1)):
        made.took(10.0, SIZE, workers=False)
        assert not made.by_workers(SIZE)


def test_the_first_run_in_the_driver_does_not_count() -> None:
    made = CrossingCosts("auto", 2, 2)
    made.took(7.0, SIZE, workers=False)
    made.took(1.0, SIZE, workers=False)
    assert made.here * SIZE == 1.0


def test_whoever_was_faster_goes_on() -> None:
    made = choice()
    made.took(1.0, SIZE, workers=False)
    assert made.by_workers(SIZE)
    made.took(50.0, SIZE, workers=True)  # their processes had to be started
    assert made.by_workers(SIZE)
    made.took(0.6, SIZE, workers=True)
    assert made.by_workers(SIZE)
    made.took(9.0, SIZE, workers=True)
    assert not made.by_workers(SIZE)


def test_the_other_place_gets_another_chance() -> None:
    made = choice()
    made.warm = True
    made.took(1.0, SIZE, workers=False)
    made.took(2.0, SIZE, workers=True)
    for _ in range(TRY_AGAIN):
        assert not made.by_workers(SIZE)
        made.took(1.0, SIZE, workers=False)
    assert made.by_workers(SIZE)


def test_workers_that_cannot_do_it_are_not_asked_at_once_again() -> None:
    made = choice()
    made.took(1.0, SIZE, workers=False)
    made.failed()
    assert not made.by_workers(SIZE)


def test_threads_that_use_the_cores_leave_workers_nothing_to_gain() -> None:
    made = choice()
    made.took(1.0, SIZE, workers=False, busy=1.9)
    assert not made.by_workers(SIZE)
    for _ in range(SLOW_RUNS):
        made.took(1.0, SIZE, workers=False, busy=1.1)  # one interpreter that all of them wait for
    assert made.by_workers(SIZE)
