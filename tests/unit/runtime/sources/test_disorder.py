"""SLACK ADAPTIVE: what was measured is enough for its share, and survives every death."""

import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.definitions import AdaptiveSlack
from penstock.plan.operators import key
from penstock.qos.monitor.slack import Slack
from penstock.runtime.sources.disorder import slack_from_json, slack_to_json
from tests.examples import examples
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import Hall, chain, scan

SECOND = 1_000_000


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def hall_of(home: Path, share: float = 0.95) -> Hall:
    hall = Hall(home, clauses={"slack": AdaptiveSlack(share)})
    hall.add("a", chain("s", "x"))
    return hall


def shuffled(first: int, rows: int, seed: int) -> list[int]:
    """Return times a tenth of a second apart that come up to three seconds late, most not."""
    drawn = random.Random(seed)
    late = [min(3.0, drawn.expovariate(2)) if drawn.random() < 0.5 else 0.0 for _ in range(rows)]
    coming = sorted((n / 10 + late[n - first], n) for n in range(first, first + rows))
    return [round((1000 + n / 10) * SECOND) for _, n in coming]


@given(st.lists(st.lists(st.floats(0, 1e9), min_size=1, max_size=20), max_size=5))
def test_what_was_measured_comes_back_from_json(trains: list[list[float]]) -> None:
    slack = Slack()
    for number, times in enumerate(trains):
        slack = slack.add(np.array(times), float(number))
    again = slack_from_json(json.loads(json.dumps(slack_to_json(slack))))
    assert (again.high, again.at, again.jumps) == (slack.high, slack.at, slack.jumps)
    np.testing.assert_array_equal(again.delays.weights, slack.delays.weights)


def test_the_share_that_was_asked_for_comes_in_time(tmp_path: Path) -> None:
    hall = hall_of(tmp_path / "home")
    source_reader = hall.topology.source_readers[key(scan("s"))]
    late = rows = 0
    for number in range(60):
        times = shuffled(50 * number, 50, number)
        if number >= 20:  # it has had some time to learn
            late += sum(each < source_reader.watermark for each in times)
            rows += len(times)
        hall.push("s", *times)
        hall.drain()
    assert late / rows <= 0.05
    assert 0.5 < source_reader.disorder.slack.total_seconds() < 3.2


@given(
    st.lists(
        st.sampled_from(["push", "take in", "turn", "deliver", "checkpoint", "die"]), max_size=25
    )
)
@settings(max_examples=examples(40))
def test_a_death_changes_no_watermark(actions: list[str]) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        calm, hall = hall_of(Path(one) / "home"), hall_of(Path(two) / "home")
        for number, action in enumerate([*actions, "push", "checkpoint", "die", "push"]):
            if action == "push":
                times = shuffled(20 * number, 20, number)
                calm.push("s", *times)
                hall.push("s", *times)
            else:
                hall.do(action)
        for each in (calm, hall):
            each.drain()
        marks = [each.topology.source_readers[key(scan("s"))].watermark for each in (calm, hall)]
        assert marks[0] == marks[1]
