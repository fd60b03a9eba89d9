"""The metrics by themselves: their names, and counts that never go down."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.server.metrics.figure import Counter, Figure
from penstock.server.metrics.memory_metrics import JAVA_FIGURES
from penstock.server.metrics.query_metrics import (
    CONTRACT_FIGURES,
    QUERY_FIGURES,
    query_metrics,
)
from penstock.server.metrics.rule_metrics import RULE_FIGURES
from penstock.server.metrics.stream_metrics import (
    ARCHIVE_FIGURES,
    BUFFER_FIGURES,
    STREAM_FIGURES,
    stream_metrics,
)
from penstock.server.metrics.work_metrics import (
    CHECKPOINT_FIGURES,
    OUTLOOK_FIGURES,
    SUPERVISOR_FIGURES,
    UNIT_FIGURES,
    unit_metrics,
)
from tests.examples import examples
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import Hall, chain, scan

TABLES: tuple[Sequence[Figure[Any]], ...] = (
    ARCHIVE_FIGURES,
    BUFFER_FIGURES,
    CHECKPOINT_FIGURES,
    CONTRACT_FIGURES,
    JAVA_FIGURES,
    OUTLOOK_FIGURES,
    QUERY_FIGURES,
    RULE_FIGURES,
    STREAM_FIGURES,
    SUPERVISOR_FIGURES,
    UNIT_FIGURES,
)
ALL = [figure for table in TABLES for figure in table]
PAGE = (Path(__file__).parents[4] / "docs/reference/metrics.md").read_text()
UNITS_THAT_ARE_NO_BASE = re.compile(r"_(ms|millis|milliseconds|us|minutes|kb|mb|percent)(_|$)")
ACTIONS = ("push", "push", "take in", "turn", "deliver", "checkpoint", "end")


@pytest.mark.parametrize("figure", ALL, ids=lambda figure: figure.name)
def test_a_metric_is_named_as_prometheus_names_them(figure: Figure[Any]) -> None:
    assert re.fullmatch(r"penstock(_[a-z]+)+", figure.name)
    assert not UNITS_THAT_ARE_NO_BASE.search(figure.name)
    assert not figure.name.endswith(("_total", "_count", "_sum", "_bucket"))  # added by its kind
    assert figure.about.endswith(".")


def test_no_two_metrics_have_one_name() -> None:
    assert len({figure.name for figure in ALL}) == len(ALL)


def test_the_page_of_metrics_tells_of_every_one() -> None:
    told = dict(
        re.findall(r"^\| `(penstock\w+)` \| \w+ \| (?:`.*` \| )?(.*?) \|$", PAGE, re.MULTILINE)
    )
    for figure in ALL:
        name = f"{figure.name}_total" if isinstance(figure, Counter) else figure.name
        assert told[name] == figure.about


@settings(max_examples=examples(40))
@given(st.lists(st.sampled_from(ACTIONS), max_size=30))
def test_counts_never_go_down_while_a_process_lives(
    tmp_path_factory: pytest.TempPathFactory, actions: list[str]
) -> None:
    with arrow_without_spark():
        hall = Hall(tmp_path_factory.mktemp("hall") / "home")
        hall.add("a", chain("s", "x"))
        hall.add("b", scan("s"))
        before = counts(hall)
        for number, action in enumerate(actions):
            hall.clock.sleep(1)
            if action == "push":
                hall.push("s", number)
            elif action == "end":
                hall.end("s")
            else:
                hall.do(action)
            now = counts(hall)
            assert all(now[name] >= value for name, value in before.items())
            before = now


def test_a_query_tells_how_many_rows_took_how_long(tmp_path: Path) -> None:
    with arrow_without_spark():
        hall = Hall(tmp_path / "home")
        hall.add("a", scan("s"))
        for arrives, seconds in ((1, 0.2), (2, 3.0)):  # the hall numbers trains by their seconds
            hall.push("s", arrives)
            hall.take_in()
            hall.clock.sleep(arrives + seconds - hall.clock.now())
            hall.deliver()
        found = counts(hall)
    assert found["penstock_query_rows_total", ("query", "a")] == 2
    assert found["penstock_stream_rows_total", ("stream", "s")] == 2
    taken = {
        limit: found["penstock_query_latency_seconds_bucket", ("le", limit), ("query", "a")]
        for limit in ("0.1", "0.25", "2.5", "5.0", "+Inf")
    }
    assert taken == {"0.1": 0, "0.25": 1, "2.5": 1, "5.0": 2, "+Inf": 2}
    total = found["penstock_query_latency_seconds_sum", ("query", "a")]
    assert total == pytest.approx(3.2)


def counts(hall: Hall) -> dict[tuple[Any, ...], float]:
    """Return every sample that must not go down."""
    topology, now = hall.topology, hall.clock.now()
    metrics = [
        *query_metrics(topology, lambda _: 1.0, now),
        *stream_metrics(topology, now),
        *unit_metrics(topology),
    ]
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for metric in metrics
        if metric.type in {"counter", "histogram"}
        for sample in metric.samples
    }
