"""Stages: whatever the template, tasks do what the whole flow does."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.functions import (
    Dataflow,
    Items,
    Runner,
    StreamType,
    central,
    fft3,
    fft3_combine,
    fft3_part,
    os_join,
    parallel,
    partition,
    pcc,
    pipe,
    rr_part,
    s_merge,
)
from penstock.functions.flows.flow import FlowInput, Source
from penstock.functions.flows.program import run_program
from penstock.functions.flows.stages import Stages, stages_of
from penstock.functions.operators.operator import END, InputItems
from penstock.model.schema import Column

RADIO = StreamType("radio", (Column("ts", "timestamp"), Column("x", "complex vector")), "ts")
FLOWS = {
    "central": central(fft3),
    "split": pcc(4, fft3_part, fft3, os_join(fft3_combine)),
    "distribute": pcc(3, rr_part, fft3, s_merge()),
    "tree": pcc(
        2, fft3_part, pcc(2, fft3_part, fft3, os_join(fft3_combine)), os_join(fft3_combine)
    ),
    "two in a row": pipe(
        pcc(2, rr_part, fft3, s_merge()), pcc(2, fft3_part, fft3, os_join(fft3_combine))
    ),
    "long branches": pcc(2, rr_part, pipe(fft3, fft3), s_merge()),
    "behind": pipe(fft3, pcc(2, rr_part, fft3, s_merge()), fft3),
}


def items(count: int, first: int = 0) -> Items:
    rng = np.random.default_rng(count + first)
    vectors = rng.standard_normal((count, 8)) + 1j * rng.standard_normal((count, 8))
    made = RADIO(ts=np.arange(first, first + count) * 1000, x=vectors.astype(np.complex64))
    return made.numbered(np.arange(first, first + count))


def by_stages(stages: Stages, trains: list[Items]) -> list[Items]:
    """Return what the tasks give for each train, each of them seeing only what it needs."""
    states = {name: kept for task in stages.tasks for name, kept in task.program.fresh().items()}
    given = []
    for place, train in enumerate(trains):
        progress = END if place == len(trains) - 1 else int(train.times[-1])
        passing: dict[Source, InputItems] = {FlowInput(0): InputItems(train, progress)}
        for tasks in stages.stages:
            made = {}
            for task in tasks:
                needs = {each: passing[each] for each in task.needs}
                ran = run_program(task.program, states, needs, 0.0, lambda: 0.0)
                states |= ran.states
                made |= ran.out
            passing |= made
        given.append(passing[stages.output].items)
    return given


@pytest.mark.parametrize("name", FLOWS)
@settings(max_examples=12)
@given(cuts=st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_the_tasks_of_a_flow_give_what_the_whole_gives(name: str, cuts: list[int]) -> None:
    flow = FLOWS[name]
    starts = np.concatenate([[0], np.cumsum(cuts)]).tolist()
    trains = [items(b - a, a) for a, b in pairwise(starts)]
    found = by_stages(stages_of(flow, RADIO), trains)
    runner = Runner(flow, (RADIO,))
    states = runner.fresh()
    for place, train in enumerate(trains):
        last = place == len(trains) - 1
        whole, states = runner.step(states, {0: train.table}, ended=last)
        assert found[place].table.equals(whole.outputs[0].table)


@pytest.mark.parametrize(
    ("name", "widths"),
    [
        ("central", [1]),
        ("split", [4, 1]),
        ("distribute", [3, 1]),
        ("tree", [4, 2, 1]),
        ("two in a row", [2, 1, 2, 1]),
        ("long branches", [2, 1]),
        ("behind", [1, 2, 1]),
    ],
)
def test_branches_stand_side_by_side(name: str, widths: list[int]) -> None:
    stages = stages_of(FLOWS[name], RADIO)
    assert [len(tasks) for tasks in stages.stages] == widths
    assert stages.degree == max(widths)


@pytest.mark.parametrize("name", FLOWS)
def test_every_node_is_told_of_once(name: str) -> None:
    stages = stages_of(FLOWS[name], RADIO)
    told = [number for task in stages.tasks for number in task.counts]
    assert sorted(told) == list(range(len(FLOWS[name].nodes)))


def test_an_output_needs_only_what_leads_to_it() -> None:
    flow: Dataflow = pipe(partition(3, rr_part), parallel(3, fft3))
    stages = stages_of(flow, RADIO, 2)
    assert [task.program.numbers for task in stages.tasks] == [(2, 5)]
    assert stages.result.schema == RADIO.schema


def test_stages_are_told() -> None:
    assert list(stages_of(FLOWS["distribute"], RADIO).lines()) == [
        "stage 1:     site 0, 1: rr_part 0 of 3 > fft3",
        "stage 1:     site 0, 2: rr_part 1 of 3 > fft3",
        "stage 1:     site 0, 3: rr_part 2 of 3 > fft3",
        "stage 2:     site 4: s_merge",
    ]
