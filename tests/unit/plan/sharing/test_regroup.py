"""Lots that members have left are laid together, where that costs less."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.operators.bundles.member import Section
from penstock.plan.sharing.regroup import A_LOT, Lot, regrouped

SECTION = Section((("k0", "`k`"),), 1, "", predicates=True)


def lot(number: int, members: int, partials: float = 5.0, tuples: float = 1000.0) -> Lot:
    section = Section(SECTION.keys, SECTION.grid, SECTION.column, predicates=True, lot=number)
    return Lot(section, tuple(f"m{number}-{n}" for n in range(members)), tuples, partials)


def test_sparse_lots_become_one() -> None:
    assert regrouped([lot(0, 20), lot(1, 3)]) == dict.fromkeys(lot(1, 3).members, 0)


def test_full_lots_stay() -> None:
    assert regrouped([lot(0, A_LOT), lot(1, A_LOT - 1), lot(2, 2)]) == {}


def test_lots_that_would_tell_nearly_all_tuples_apart_stay() -> None:
    assert regrouped([lot(0, 5, partials=300.0), lot(1, 5, partials=200.0)]) == {}


def test_lots_of_other_sections_stay() -> None:
    other = Lot(Section((), 1, "", predicates=True, lot=1), ("a",), 1000.0, 5.0)
    assert regrouped([lot(0, 3), other]) == {}


def test_lots_that_have_not_run_yet_can_be_one() -> None:
    assert regrouped([lot(0, 2, 0.0, 0.0), lot(1, 3, 0.0, 0.0)]) != {}


@given(st.lists(st.tuples(st.integers(1, A_LOT), st.floats(0, 1000)), max_size=8))
def test_no_lot_overflows_and_what_is_laid_together_is_left_so(
    made: list[tuple[int, float]],
) -> None:
    lots = [lot(number, members, partials) for number, (members, partials) in enumerate(made)]
    moved = regrouped(lots)
    sizes = {each.section.lot: 0 for each in lots}
    for each in lots:
        for member in each.members:
            sizes[moved.get(member, each.section.lot)] += 1
    assert sum(sizes.values()) == sum(members for members, _ in made)
    assert all(size <= A_LOT for size in sizes.values())
    gone = {each.section.lot for each in lots if moved.keys() >= set(each.members)}
    assert gone.isdisjoint(moved.values())
