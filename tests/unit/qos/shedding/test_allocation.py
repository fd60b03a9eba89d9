"""The least error for a load, against every choice on a grid."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.qos.shedding.allocation import Limit, WorkShare, allocate, released
from tests.examples import examples

NAMES = "abcd"
GRID = 8  # steps of a share


@st.composite
def trees(draw: st.DrawFn) -> list[WorkShare[str]]:
    """Draw the pieces of a stream's tree: sets of stakes that are apart or inside one another."""
    names = NAMES[: draw(st.integers(1, 4))]
    pieces = [WorkShare(draw(st.integers(0, 5)) / 4, frozenset(names))]
    cut = draw(st.integers(0, len(names)))
    pieces += [
        WorkShare(draw(st.integers(0, 5)) / 4, frozenset(s)) for s in (names[:cut], names[cut:])
    ]
    pieces += [WorkShare(draw(st.integers(1, 5)) / 4, frozenset(each)) for each in names]
    return [piece for piece in pieces if piece.stakes]


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[WorkShare[str]], dict[str, Limit], float]:
    pieces = draw(trees())
    names = sorted(set().union(*(piece.stakes for piece in pieces)))
    limits = {
        name: Limit(draw(st.integers(0, GRID)) / GRID, float(draw(st.integers(1, 4))))
        for name in names
    }
    return pieces, limits, draw(st.integers(0, 24)) / 6


def lost(limits: dict[str, Limit], shed: dict[str, float]) -> float:
    return sum(limits[name].weight * share for name, share in shed.items())


@given(problems())
@settings(max_examples=examples(150))
def test_no_choice_releases_as_much_with_less_error(
    problem: tuple[list[WorkShare[str]], dict[str, Limit], float],
) -> None:
    pieces, limits, release = problem
    found = allocate(pieces, limits, release)
    shed = dict(found.shed)
    most = released(pieces, {name: each.most for name, each in limits.items()})
    assert abs(found.released - released(pieces, shed)) < 1e-9
    assert abs(found.released - min(release, most)) < 1e-9
    assert abs(found.short - max(0.0, release - most)) < 1e-9
    steps = [
        [n / GRID for n in range(round(limits[name].most * GRID) + 1)] for name in sorted(limits)
    ]
    for shares in itertools.product(*steps):
        other = dict(zip(sorted(limits), shares, strict=True))
        if released(pieces, other) >= found.released - 1e-9:
            assert lost(limits, shed) <= lost(limits, other) + 1e-9


@given(problems())
def test_nobody_gives_up_more_than_it_may(
    problem: tuple[list[WorkShare[str]], dict[str, Limit], float],
) -> None:
    pieces, limits, release = problem
    found = allocate(pieces, limits, release)
    assert all(0 <= found.shed[name] <= each.most + 1e-12 for name, each in limits.items())


def test_items_that_share_nothing_are_the_knapsack_of_the_paper() -> None:
    pieces = [
        WorkShare(1.0, frozenset("a")),
        WorkShare(0.5, frozenset("b")),
        WorkShare(2.0, frozenset("c")),
    ]
    limits = {"a": Limit(0.5), "b": Limit(1.0, 0.1), "c": Limit(0.1)}
    found = allocate(pieces, limits, 1.0)
    assert {name: round(share, 9) for name, share in found.shed.items()} == {
        "a": 0.3,
        "b": 1.0,
        "c": 0.1,
    }


def test_what_is_shared_is_dropped_only_for_all() -> None:
    pieces = [
        WorkShare(1.0, frozenset("ab")),
        WorkShare(0.1, frozenset("a")),
        WorkShare(0.1, frozenset("b")),
    ]
    together = allocate(pieces, {"a": Limit(0.5), "b": Limit(0.5)}, 0.3)
    assert together.shed["a"] == together.shed["b"]
    assert abs(together.shed["a"] - 0.25) < 1e-9
    alone = allocate(pieces, {"a": Limit(0.5), "b": Limit(0.0)}, 0.3)
    assert (alone.shed["b"], round(alone.released, 9)) == (0.0, 0.05)


def test_a_hundred_queries_over_one_stream_are_allocated() -> None:
    names = [f"q{n}" for n in range(100)]
    pieces = [WorkShare(1.0, frozenset(names))]
    pieces += [WorkShare((n % 7 + 1) / 100, frozenset([name])) for n, name in enumerate(names)]
    limits = {name: Limit(0.2 + n % 5 / 10, n % 3 + 1.0) for n, name in enumerate(names)}
    found = allocate(pieces, limits, 1.5)
    assert abs(released(pieces, found.shed) - 1.5) < 1e-9
