import argparse
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from penstock.cli.commands.demo import demo_seconds
from penstock.cli.demo.sampler import RowSampler, row_text
from penstock.cli.demo.story import (
    FIGURES,
    CalmDelay,
    ClosingFigures,
    StoryMoment,
    caught_up,
    delays_told,
    rush_told,
    stretch,
    summary,
)
from penstock.engine.connectors.sources import check
from penstock.engine.sinks.sink import Delivery
from penstock.runtime.views.relations.contracts import QOS
from penstock.runtime.views.relations.queries import QUERIES
from penstock.runtime.views.relations.rules import RULES
from penstock.scene.demo_scene import DemoScene
from penstock.sql import CreateEvent, CreateQuery, CreateRule, CreateStream, CreateTable, parse


@pytest.mark.parametrize("seconds", [10.0, 30.0, 47.3])
def test_the_scripts_parse_and_their_sources_are_right(seconds: float) -> None:
    streams, queries, rules = (parse(script) for script in DemoScene(seconds).scripts())
    assert [type(each) for each in rules] == [CreateEvent, CreateStream, CreateQuery, CreateRule]
    assert [type(each) for each in streams] == [CreateTable, CreateStream, CreateStream]
    assert [type(each) for each in queries] == [CreateQuery] * 7
    for each in streams:
        if isinstance(each, CreateStream):
            check(each.definition)


@pytest.mark.parametrize("seconds", [10.0, 30.0, 120.0])
def test_there_is_one_rush_and_time_after_it(seconds: float) -> None:
    scene = DemoScene(seconds)
    begin, end = scene.rush
    assert 0 < begin < end < seconds * 0.8
    assert begin + scene.rush_every > seconds


@pytest.mark.parametrize("text", ["3", "9.9s", "x"])
def test_a_scene_that_is_too_short_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        demo_seconds(text)


def test_a_query_s_rows_are_sampled_and_the_rest_counted() -> None:
    lines: list[str] = []
    sampler = RowSampler(lines.append, colored=False)
    rows = pa.table({"road": ["north"] * 4, "mph": [95.5] * 4})
    for number in range(1, 4):
        sampler.deliver(Delivery("speeding", number, rows))
    assert lines == ["00:00  speeding    road north  mph 95.5  (+3)"]
    sampler.deliver(Delivery("flow", 1, rows.slice(0, 1)))
    assert lines[1:] == ["00:00  flow        road north  mph 95.5"]


def test_a_row_is_told_on_one_line() -> None:
    row = {"ts": datetime(2026, 1, 1, 8, 30, tzinfo=UTC), "road": "north", "mph": 95.0, "n": 3}
    assert row_text(row) == "ts 08:30:00  road north  mph 95  n 3"


def moments(*figures: tuple[float, int, int, float]) -> list[StoryMoment]:
    return [StoryMoment(*each) for each in figures]


def test_a_stretch_is_its_mean_rate_and_its_worst_moments() -> None:
    told = stretch(moments((0, 0, 5, 1.0), (1, 50, 9, 0.5), (2, 200, 1, 2.0)))
    assert (told.rows_per_second, told.most_queued, told.most_lag) == (100.0, 9, 2.0)


def test_the_rush_is_over_when_it_is_calm_for_good() -> None:
    calm = stretch(moments((0, 0, 10, 1.0), (1, 1, 10, 1.0)))
    since = moments((21, 0, 10, 1.0), (22, 0, 10, 9.0), (23, 0, 99, 1.0), (24, 0, 10, 1.0))
    assert "2.0 s after the rush" in caught_up(since, calm, 21.0)
    assert "still" in caught_up(since[:3], calm, 21.0)
    assert "as it came" in caught_up(since[:1], calm, 21.0)


def test_a_demo_that_ends_before_its_rush_tells_nothing_of_it() -> None:
    assert rush_told(moments((0, 0, 0, 1.0)), DemoScene(30.0)) == []


def test_the_summary_has_a_line_for_each_query_and_names_the_files() -> None:
    row = dict.fromkeys(QUERIES.columns.names) | {"query": "power", "rows_out": 12}
    queries = pa.Table.from_pylist([row], QUERIES.columns)
    rules, contracts = RULES.columns.empty_table(), QOS.columns.empty_table()
    told = summary(
        ClosingFigures(queries, rules, contracts), moments((0, 0, 0, 1.0)), DemoScene(30.0), "h"
    )
    assert all(name in told for name in (*FIGURES, "power", "streams.sql", "--home h"))


def test_delays_before_the_rush_stand_beside_the_bar() -> None:
    quick, slow = CalmDelay("quick", 9, 0.2, 1.4), CalmDelay("slow", 3, 0.5, 0.5)
    head, table = delays_told([quick, slow, CalmDelay("silent", 0, None, None)])
    assert "below 500 ms for 1 of 2 queries" in head
    lines = {line.split()[0]: line.split() for line in table.splitlines() if "ms" in line}
    assert lines["quick"][-1:] == ["yes"]
    assert lines["slow"][-1:] == ["no"]  # at the bar is not below it
    assert "no rows" in table
    assert delays_told([]) == []
