import random
from collections.abc import Iterable
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.schedule.costs.fragments import Forest, Fragment, Job, horn_fragments
from penstock.schedule.strategies.profit.printed_fragments import printed_fragments
from tests.examples import examples

# Defect C10: root a is worth its cost only for both of its children.
COUNTER = {"a": Job(5, 0), "b": Job(3, 8, "a"), "c": Job(2, 8, "a"), "d": Job(4, 5)}


@st.composite
def forests(draw: st.DrawFn) -> dict[str, Job]:
    forest: dict[str, Job] = {}
    for number in range(draw(st.integers(1, 8))):
        parent = draw(st.sampled_from([None, *forest]))
        profit = draw(st.integers(0, 9))
        forest[f"j{number}"] = Job(draw(st.integers(1, 9)), profit, parent)
    return forest


def earned(fragments: Iterable[Fragment], seconds: float) -> float:
    """Return the profit in a time; of the last fragment a part of the batch is done."""
    profit = 0.0
    for fragment in fragments:
        profit += min(1.0, seconds / fragment.seconds) * fragment.profit
        seconds -= fragment.seconds
        if seconds <= 0:
            break
    return profit


def best(forest: Forest, seconds: float) -> float:
    """Return the LP optimum: a mixture of two sets of jobs that are closed under parents."""
    names = list(forest)
    sets = [set(each) for n in range(len(names) + 1) for each in combinations(names, n)]
    closed = [s for s in sets if all(forest[n].parent in s or not forest[n].parent for n in s)]
    points = [(sum(forest[n].seconds for n in s), sum(forest[n].profit for n in s)) for s in closed]
    within = [point for point in points if point[0] <= seconds]
    beyond = [point for point in points if point[0] > seconds]
    mixed = [
        p + (q - p) * (seconds - c) / (d - c) for c, p in within for d, q in beyond if d > seconds
    ]
    return max([p for _, p in within] + mixed)


@given(forests(), st.floats(0.1, 60))
@settings(deadline=None, max_examples=examples(60))
def test_horns_rule_earns_what_brute_force_earns(forest: dict[str, Job], seconds: float) -> None:
    assert earned(horn_fragments(forest), seconds) == pytest.approx(best(forest, seconds))


@given(forests())
@settings(deadline=None)
def test_every_job_is_in_one_fragment_after_its_parent(forest: dict[str, Job]) -> None:
    for rule in (horn_fragments, printed_fragments):
        order = [name for fragment in rule(forest) for name in fragment.jobs]
        assert sorted(order) == sorted(forest)
        for name, job in forest.items():
            assert job.parent is None or order.index(job.parent) < order.index(name)


@given(forests())
@settings(deadline=None)
def test_densities_fall(forest: dict[str, Job]) -> None:
    densities = [fragment.density for fragment in horn_fragments(forest)]
    assert all(a >= b - 1e-9 for a, b in pairwise(densities))


@given(forests(), st.floats(0.1, 60))
@settings(deadline=None)
def test_the_printed_algorithm_never_earns_more(forest: dict[str, Job], seconds: float) -> None:
    assert (
        earned(printed_fragments(forest), seconds) <= earned(horn_fragments(forest), seconds) + 1e-9
    )


def test_the_printed_algorithm_misses_what_two_children_are_worth_together() -> None:
    first = horn_fragments(COUNTER)[0]
    assert set(first.jobs) == {"a", "b", "c"}
    assert first.density == pytest.approx(1.6)
    assert earned(horn_fragments(COUNTER), 3.8) == pytest.approx(6.08)
    assert printed_fragments(COUNTER)[0].jobs == ("d",)
    assert earned(printed_fragments(COUNTER), 3.8) == pytest.approx(4.75)


def test_the_thesis_example_gives_its_fragments() -> None:
    # Fig 4.5, as far as the text has it: (J1, J2, J4) costs 3 a tuple, (J5, J6, J8) costs 8.
    jobs = {
        "J1": Job(1),
        "J2": Job(1, 0, "J1"),
        "J3": Job(9, 1, "J2"),
        "J4": Job(1, 9, "J2"),
        "J5": Job(3, 0, "J1"),
        "J6": Job(3, 0, "J5"),
        "J7": Job(9, 1, "J6"),
        "J8": Job(2, 9, "J6"),
    }
    for rule in (horn_fragments, printed_fragments):
        first, second, *_ = rule(jobs)
        assert first == Fragment(("J1", "J2", "J4"), 3, 9)
        assert second == Fragment(("J5", "J6", "J8"), 8, 9)


def test_a_long_line_of_jobs_is_one_fragment_and_takes_no_time() -> None:
    line = {f"{n:05}": Job(1, float(n == 4999), f"{n - 1:05}" if n else None) for n in range(5000)}
    assert [len(fragment.jobs) for fragment in horn_fragments(line)] == [5000]


def test_horns_rule_is_best_for_thousands_of_small_forests() -> None:
    drawn = random.Random(7)
    for _ in range(2000):
        forest: dict[str, Job] = {}
        for number in range(drawn.randint(1, 5)):
            parent = drawn.choice([None, *forest])
            forest[f"j{number}"] = Job(drawn.randint(1, 9), drawn.randint(0, 9), parent)
        seconds = drawn.uniform(0.1, 40)
        assert abs(earned(horn_fragments(forest), seconds) - best(forest, seconds)) < 1e-6
