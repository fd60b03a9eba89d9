"""The simulated sensor grid of E5.8: what updates are worth, and who gets them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.experiments.thesis.tokens import (
    DECAY,
    POLICIES,
    Grid,
    Step,
    drawn_steps,
    played,
    worth,
)

# A shared step, a cheap query of weight 1, a dear one of weight 10 behind a step of its own.
STEPS = {
    "clean": Step(1.0, None),
    "cheap": Step(1.0, "clean", "cheap", 1.0),
    "between": Step(1.0, "clean"),
    "dear": Step(1.0, "between", "dear", 10.0),
}


def test_missed_tokens_decay() -> None:
    assert worth(1) == pytest.approx(1)
    assert worth(3) == pytest.approx(1 + DECAY + DECAY**2)


@pytest.mark.parametrize("name", POLICIES)
@given(seed=st.integers(0, 40))
def test_below_capacity_every_query_has_every_slice(name: str, seed: int) -> None:
    """The last one may still be at work."""
    steps = drawn_steps(seed, 0.9)
    grid = played(steps, POLICIES[name](steps), 5)
    assert all(4 <= count <= 5 for count in grid.updates.values())
    assert grid.tokens <= 5 * sum(step.weight for step in steps.values()) + 1e-9


@pytest.mark.parametrize("name", POLICIES)
@given(seed=st.integers(0, 40))
def test_past_capacity_nobody_earns_more_than_what_was_offered(name: str, seed: int) -> None:
    steps = drawn_steps(seed, 3.0)
    grid = played(steps, POLICIES[name](steps), 10)
    assert 0 < grid.tokens < 10 * sum(step.weight for step in steps.values())


def test_optprofit_goes_through_a_step_for_what_is_behind_it() -> None:
    grid = Grid(STEPS, arrived=1, seen={"clean": 1})
    assert POLICIES["optprofit"](STEPS)(grid) == "between"
    grid.done("between", 1)
    assert POLICIES["optprofit"](STEPS)(grid) == "dear"
    grid.done("dear", 1)
    assert POLICIES["optprofit"](STEPS)(grid) == "cheap"
    assert grid.tokens == pytest.approx(10)


def test_an_update_after_three_slices_is_one_update() -> None:
    grid = Grid(STEPS, arrived=3)
    grid.done("clean", 3)
    grid.done("cheap", 3)
    assert grid.updates == {"cheap": 1}
    assert grid.tokens == pytest.approx(worth(3))
    assert not grid.is_ready("cheap")
