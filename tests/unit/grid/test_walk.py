"""Pictures grow from some tiles to all cells of the surface."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.errors import BadArgumentError
from penstock.grid.answers import answered
from penstock.grid.space.perspectives import Node
from penstock.grid.walk import Walk, Walkers, pictures, tiles_of
from penstock.model.grids import Aggregate, Axis
from tests.examples import examples
from tests.unit.grid.fields import field_of, perspective, rows, surfaces
from tests.unit.grid.test_execution import close

WALKS = st.builds(
    Walk,
    st.sampled_from([0.05, 0.3, 1.0]),
    st.integers(1, 9),
    st.integers(0, 99),
    st.none() | st.integers(1, 7),
)


@settings(deadline=None, max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(surfaces(), WALKS)
def test_pictures_grow_into_the_whole(surface: Node, walk: Walk) -> None:
    seen = list(pictures(surface, walk=walk))
    found = [rows(each.cells) for each in seen]
    for one, other in pairwise(found):
        assert one.items() <= other.items() or close(
            {at: other[at] for at in one if at in other}, one
        )
    assert [each.whole for each in seen] == [False] * (len(seen) - 1) + [True]
    assert [each.share for each in seen] == sorted(each.share for each in seen)
    assert close(found[-1], rows(answered(surface)))


def test_a_walk_stays_where_values_differ() -> None:
    """A line of 400 tiles with one step in it: tiles near the step are computed first."""
    tiles = tuple((0, at, 0, 0) for at in range(400))
    near = []
    for seed in range(20):
        walkers = Walkers(tiles, Walk(walks=6, seed=seed))
        while len(walkers.values) < 60:
            for at in walkers.steps():
                walkers.saw(at, float(at[1] > 130) + at[1] / 10_000)
        near.append(sum(abs(at[1] - 130) <= 40 for at in walkers.values) / len(walkers.values))
    assert np.mean(near) > 81 / 400


def test_the_first_picture_has_the_share_that_was_asked_for() -> None:
    base = field_of([(at, 0, 0, float(at % 9)) for at in range(0, 4_000, 2)])
    surface = perspective("p", Aggregate("sum"), base, time=Axis(Fraction(10)))
    walk = Walk(share=0.15, walks=5)
    shares = [each.share for each in pictures(surface, walk=walk)]
    walked = [each for each in shares if each < 0.15 + 5 / 400]
    assert max(walked) >= 0.15
    assert len(shares) == len(walked) + 10


def test_a_fold_puts_days_below_each_other() -> None:
    base = field_of([(at, 0, 0, 1.0) for at in range(3, 40)])
    tiles = tiles_of(base.extent, 10)
    assert {at[:2] for at in tiles} == {(each // 10, each % 10) for each in range(3, 40)}
    assert sum(len(each) for each in tiles.values()) == 37


@pytest.mark.parametrize("wrong", [{"share": 0.0}, {"share": 1.1}, {"walks": 0}, {"fold": 0}])
def test_a_walk_that_leads_nowhere_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BadArgumentError):
        Walk(**wrong)  # type: ignore[arg-type]
