"""Audiences say of rows who wants them, whoever has come or gone since."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.states.sharing.audiences import Audiences

Wanted = list[list[bool]]
NAMES = tuple(f"q{place:02d}" for place in range(70))  # more than one number has bits


def masks(width: int) -> st.SearchStrategy[Wanted]:
    return st.lists(st.lists(st.booleans(), min_size=width, max_size=width), max_size=12)


def array(rows: Wanted, width: int) -> "np.ndarray":
    return np.array(rows, dtype=bool).reshape(len(rows), width)


@given(st.sampled_from((1, 7, 8, 64, 70)).flatmap(lambda n: st.tuples(masks(n), masks(n))))
def test_each_row_finds_who_wanted_it(lots: tuple[Wanted, Wanted]) -> None:
    width = max((len(row) for rows in lots for row in rows), default=1)
    audiences, numbers = Audiences().among(NAMES[:width]), list[int]()
    for rows in lots:
        audiences, found = audiences.of(array(rows, width))
        numbers += found.tolist()
    back = Audiences.from_json(json.loads(json.dumps(audiences.to_json())))
    rows = [row for lot in lots for row in lot]
    for each in (audiences, back, audiences.only(np.array(numbers, dtype=np.int64))):
        places = each.places(np.array(numbers, dtype=np.int64))
        assert each.wanted[places].tolist() == rows
        assert len(each.numbers) == len({tuple(row) for row in rows})


@given(masks(4), st.permutations(range(6)).map(lambda order: order[:3]))
def test_who_comes_is_in_no_audience_yet_and_who_goes_in_none(
    rows: Wanted, here: list[int]
) -> None:
    audiences, numbers = Audiences().among(NAMES[:4]).of(array(rows, 4))
    others = audiences.among([NAMES[place] for place in here])
    for at, place in enumerate(here):
        found = others.wanted[others.places(numbers), at].tolist()
        assert found == [place < 4 and row[place] for row in rows]
    following, more = others.of(np.ones((1, len(here)), dtype=bool))
    assert following.wanted[following.places(more)].all()
