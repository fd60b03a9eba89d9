import gc

from penstock.engine.trains.join_memory import JoinMemory, Wanted


class Join:
    """One that keeps tuples."""


def test_joins_that_can_spill_share_what_the_others_leave() -> None:
    memory, fixed, one, other = JoinMemory(100), Join(), Join(), Join()
    assert memory.share(fixed, Wanted(40, is_fixed=True)) is None
    assert memory.share(one, Wanted(90, is_fixed=False)) == 60
    assert memory.share(other, Wanted(10, is_fixed=False)) == 10
    assert memory.share(one, Wanted(90, is_fixed=False)) == 50
    assert memory.share(other, Wanted(90, is_fixed=False)) == 30


def test_a_join_that_is_gone_leaves_its_share() -> None:
    memory, one, other = JoinMemory(100), Join(), Join()
    memory.share(other, Wanted(90, is_fixed=False))
    assert memory.share(one, Wanted(90, is_fixed=False)) == 50
    del other
    gc.collect()
    assert memory.share(one, Wanted(90, is_fixed=False)) == 90


def test_without_a_bound_nobody_is_bounded() -> None:
    assert JoinMemory().share(Join(), Wanted(1e12, is_fixed=False)) is None
