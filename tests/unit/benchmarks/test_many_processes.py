"""Children that are asked: they answer, fail, die or are too late, and can be asked again."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.many.processes import CannotCopeError, Child

CHILD = """
import os, time
from benchmarks.many.serving import serve

def late(seconds):
    time.sleep(seconds)
    return {}

def opened():
    print("noise on the output")
    return {"twice": lambda n: {"n": 2 * n}, "fail": lambda: 1 / 0, "late": late,
            "die": lambda: os._exit(3)}

serve(opened)
"""


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Child]:
    with Child([sys.executable, "-c", CHILD], {}, tmp_path / "log") as made:
        yield made


def test_a_child_answers(child: Child) -> None:
    assert child.ask("twice", 30, n=4).said == {"n": 8}
    assert child.ask("twice", 30, n=5).said == {"n": 10}


def test_what_a_child_raises_is_told(child: Child) -> None:
    with pytest.raises(CannotCopeError, match="ZeroDivisionError"):
        child.ask("fail", 30)
    assert child.ask("twice", 30, n=1).said == {"n": 2}


def test_a_child_that_is_late_is_ended_and_begun_anew(child: Child) -> None:
    with pytest.raises(CannotCopeError, match="no answer within 1 s"):
        child.ask("late", 1, seconds=60)
    assert child.ask("twice", 30, n=1).said == {"n": 2}


def test_a_child_that_died_is_begun_anew(child: Child) -> None:
    with pytest.raises(CannotCopeError, match="died"):
        child.ask("die", 30)
    assert child.ask("twice", 30, n=1).said == {"n": 2}


def test_cpu_is_told_between_moments(child: Child) -> None:
    answer = child.ask("late", 30, seconds=0.5)
    assert answer.cpu_between(answer.moments[0], answer.moments[-1]) >= 0
