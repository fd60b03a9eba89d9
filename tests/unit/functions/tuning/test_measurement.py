"""Measuring on a clock that the functions themselves move, so that costs are known."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

from penstock.functions import (
    Function,
    Items,
    Registry,
    Role,
    Runner,
    StreamType,
    central,
    fft3,
    magnitude,
    pipe,
    polarize,
    sample,
)
from penstock.functions.flows.flow import Dataflow
from penstock.functions.flows.resolution import flow_of
from penstock.functions.operators.function import Split
from penstock.functions.tuning.measurement import SampledWindows, measured, sampled
from penstock.functions.tuning.plans import CENTRAL, SpreadPlan, SpreadStrategy
from penstock.functions.tuning.spread import flow_for, function_in, written_for
from penstock.model.functions.flows import Term
from penstock.model.schema import Column

SIGNAL = StreamType("signal", (Column("ts", "timestamp"), Column("x", "double vector")), "ts")
SPLIT = [SpreadPlan(SpreadStrategy.SPLIT, fans) for fans in ((2,), (4,), (2, 2))]
DISTRIBUTE = [SpreadPlan(SpreadStrategy.DISTRIBUTE, fans) for fans in ((2,), (3,), (2, 2))]


@dataclass
class Clock:
    """Stands still but for what functions say that they took."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def _windows(count: int, size: int) -> pa.Table:
    values = np.random.default_rng(1).normal(size=(count, size))
    times = pa.array(np.arange(count), pa.timestamp("us", "UTC"))
    return SIGNAL(ts=times, x=values).table


def _costly(clock: Clock, name: str, role: Role, seconds: float) -> Function:
    def work(items: Items, *_: object) -> Items:
        first = items if isinstance(items, Items) else items[0]
        clock.now += seconds * len(first) * first["x"].shape[1] ** 2
        return first

    return Function(name, role, work, lambda given, _: given)


def test_a_quadratic_function_is_measured_on_windows_and_on_their_parts() -> None:
    clock = Clock()
    split = Split(_halves("part"), _costly(clock, "combine", Role.COMBINE, 3e-6))
    what = replace(_costly(clock, "f", Role.TRANSFORM, 2e-6), split=split)()
    windows = sampled(SIGNAL, _windows(10, 64))
    assert windows is not None
    costs = measured(what, windows, (2, 4), clock).costs()
    assert [round(costs.compute.at(n) / 2e-6) for n in (64, 32, 16, 128)] == [
        64**2,
        32**2,
        16**2,
        128**2,
    ]
    assert costs.combines[2].at(64) == pytest.approx(3e-6 * 32**2)
    assert costs.combines[4].at(64) == pytest.approx(3e-6 * 16**2)
    assert set(costs.splits) == {2, 4}


def _halves(name: str) -> Function:
    def part(items: Items, n: int, i: int) -> Items:
        return items.with_columns(items.type, {"x": items["x"][:, i::n]})

    return Function(name, Role.PARTITION, part, lambda given, _: given)


def test_a_split_that_cannot_be_is_no_plan() -> None:
    windows = SampledWindows(SIGNAL, _windows(4, 12), 12)
    found = measured(fft3(), windows, (2, 3, 4, 5, 8), Clock())
    assert set(found.splits) == set(found.combines) == {2, 4}
    assert not measured(magnitude(), windows, (2,), Clock()).splits


def test_windows_of_the_most_common_size_are_the_sample() -> None:
    mixed = [np.ones(8), np.ones(8), np.ones(4), np.ones(0), np.ones(8)]
    times = pa.array(range(5), pa.timestamp("us", "UTC"))
    found = sampled(SIGNAL, SIGNAL(ts=times, x=mixed).table)
    assert found is not None
    assert (found.size, found.table.num_rows) == (8, 3)
    assert sampled(SIGNAL, _windows(0, 8)) is None
    assert sampled(SIGNAL, SIGNAL(ts=times[:1], x=[np.ones(0)]).table) is None


@pytest.mark.parametrize("plan", [CENTRAL, *SPLIT, *DISTRIBUTE], ids=lambda plan: plan.name)
def test_every_plan_gives_what_the_function_gives_and_is_written_as_it_is(plan: SpreadPlan) -> None:
    table, flow = _windows(6, 16), flow_for(fft3(), plan)
    assert len(flow.sites) == plan.sites
    assert _result(flow, table) == pytest.approx(np.fft.fft(_result(None, table)))
    assert flow_of(_term(written_for(fft3(), plan)), Registry()) == flow
    assert function_in(flow) == fft3()


def test_what_is_more_than_one_function_is_not_spread_in_another_way() -> None:
    assert function_in(pipe(fft3, polarize)) is None
    assert function_in(pipe(fft3, fft3)) is None
    assert function_in(central(sample(4))) is None


def _result(flow: Dataflow | None, table: pa.Table) -> np.ndarray:
    if flow is None:
        return np.asarray(Items.from_table(SIGNAL, table)["x"])
    runner = Runner(flow, (SIGNAL,))
    delivered, _ = runner.step(runner.fresh(), {0: table}, ended=True)
    return np.asarray(delivered.outputs[0]["x"])


def _term(text: str) -> Term:
    """Read what `text` writes: names, whole numbers and parentheses."""
    name, opened, rest = text.partition("(")
    if not opened:
        return Term(name)
    arguments, depth, start = [], 0, 0
    body = rest[:-1]
    for at, letter in enumerate(f"{body},"):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            each = body[start:at].strip()
            arguments.append(int(each) if each.isdecimal() else _term(each))
            start = at + 1
    return Term(name, tuple(arguments))


def test_the_size_that_comes_now_is_measured_however_many_there_were_of_another() -> None:
    kind = StreamType("v", (Column("ts", "timestamp"), Column("v", "double vector")), "ts")
    lengths = [4] * 100 + [16] * 9
    times = np.arange(len(lengths)).astype("datetime64[s]")
    items = kind(ts=times, v=[np.zeros(length) for length in lengths])
    sample = sampled(kind, items.table)
    assert sample is not None
    assert (sample.size, sample.table.num_rows) == (16, 9)
