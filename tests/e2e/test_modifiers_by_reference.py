"""Modifiers give the rows that the steps of a sorted list give, however their stream is cut."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.client import Connection
from tests.e2e.reference.modifiers import Profile, Step, adiff, aslope, rdiff, steps
from tests.e2e.reference.streams import Flow, flows, untimed
from tests.e2e.reference.trial import LAW, Question, ask, each_train_alone

pytestmark = pytest.mark.spark

KEYS = ((), ("k",), ("k", "g"))
SHOWN = ("id", "k", "w")


@dataclass(frozen=True)
class Modifier:
    """A modifier's name and arguments, and what it makes of a step."""

    name: str
    arguments: str
    of: Callable[[Step], Any]


MODIFIERS = (
    Modifier("adiff", "x", lambda step: adiff(step, "x")),
    Modifier("adiff", "d", lambda step: adiff(step, "d")),
    Modifier("rdiff", "x", lambda step: rdiff(step, "x")),
    Modifier("rdiff", "x, pseudo => 2", lambda step: rdiff(step, "x", pseudo=2)),
    Modifier("aslope", "x, g", lambda step: aslope(step, "x", "g")),
    Modifier("aslope", "x, g, pseudo => 4", lambda step: aslope(step, "x", "g", pseudo=4)),
    Modifier("aslope", "id, x", lambda step: aslope(step, "id", "x")),
)


@pytest.fixture(scope="module")
def ps(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with each_train_alone(tmp_path_factory.mktemp("modifiers") / "home", spark) as connection:
        yield connection


@dataclass(frozen=True)
class Modified:
    """A SELECT of modifiers, all over one partition and with one profile."""

    modifiers: list[Modifier]
    keys: tuple[str, ...]
    profile: Profile | None

    def question(self, flow: Flow) -> Question:
        found = steps(flow.rows, self.keys, self.profile or "N")
        return Question(
            self._sql(),
            [
                (*(step.shown[name] for name in SHOWN), *(each.of(step) for each in self.modifiers))
                for step in found
            ],
        )

    def _sql(self) -> str:
        over = f"OVER ({'PARTITION BY ' if self.keys else ''}{', '.join(self.keys)})"
        profile = f", profile => '{self.profile}'" if self.profile else ""
        calls = (
            f"{each.name}({each.arguments}{profile}) {over} AS c{place}"
            for place, each in enumerate(self.modifiers)
        )
        return f"SELECT {', '.join((*SHOWN, *calls))} FROM $s"


def modified() -> st.SearchStrategy[list[Modified]]:
    one = st.builds(
        Modified,
        st.lists(st.sampled_from(MODIFIERS), min_size=1, max_size=3, unique=True),
        st.sampled_from(KEYS),
        st.sampled_from((None, "N", "O")),
    )
    return st.lists(one, min_size=1, max_size=3)


@LAW
@given(flow=flows(), asked=modified())
def test_modifiers_follow_time(flow: Flow, asked: list[Modified], ps: Connection) -> None:
    ask(ps, {"s": flow}, [each.question(flow) for each in asked])


@LAW
@given(flow=flows().map(untimed), asked=modified())
def test_modifiers_of_a_stream_without_times_follow_arrival(
    flow: Flow, asked: list[Modified], ps: Connection
) -> None:
    ask(ps, {"s": flow}, [each.question(flow) for each in asked])
