"""Experiments E5.1 to E5.6: shares of the work, rewrite, buffers, strategies, the walk.

Seconds are the processor's, of one thread, so that others on the machine change them little.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from time import process_time

import numpy as np
import pyarrow as pa

from benchmarks.grids.array_program import array_program, plain_pykrige
from benchmarks.grids.queries import TEMPERATURE, Query, course, queries
from penstock.grid.answers import answered
from penstock.grid.choice import measured
from penstock.grid.coalesce import coalesced
from penstock.grid.execution import Execution, Strategy, path
from penstock.grid.space.cells import Cells
from penstock.grid.space.perspectives import Node
from penstock.grid.walk import Walk, pictures

NATIVE = Strategy(buffered=False, blocks=1)  # bottom-up, nothing else
DAY = 24  # hours of a row of the picture


@dataclass(frozen=True, slots=True)
class Table:
    """What an experiment found."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | float, ...], ...]


@dataclass(frozen=True, slots=True)
class Bench:
    """The readings, and how often each thing is done; the median counts."""

    readings: pa.Table
    repetitions: int

    def seconds(self, *work: Callable[[], object]) -> list[float]:
        """Return the median seconds of each, done in turns."""
        taken: list[list[float]] = [[] for _ in work]
        for _ in range(self.repetitions):
            for each, found in zip(work, taken, strict=True):
                begun = process_time()
                each()
                found.append(process_time() - begun)
        return [median(each) for each in taken]


def computed(plan: Node, query: Query, strategy: Strategy) -> Cells:
    """Return the cells of a tree, by a strategy."""
    return Execution(plan, query.window, strategy).cells()


def shares(bench: Bench) -> Table:
    """E5.1: the share of each perspective in the time of Q1 to Q4."""
    rows = []
    for query in list(queries(bench.readings).values())[:4]:
        execution = Execution(query.surface, query.window, NATIVE, process_time)
        execution.cells()
        spent = {node.name: work.seconds for node, work in execution.work.items()}
        whole = sum(spent.values())
        names = [each.name for each in path(query.surface)]
        rows.append((query.name, whole, *(100 * spent[name] / whole for name in names)))
    columns = ("query", "seconds", "convert %", "align %", "interpolate %", "aggregate %")
    return Table("E5.1: what the time goes into", columns, tuple(rows))


def beside_arrays(bench: Bench) -> Table:
    """E5.2: Q1 without any optimisation, beside array programs."""
    query = queries(bench.readings)["Q1"]
    given = (bench.readings, "ambient_temperature", TEMPERATURE, query)
    seconds = bench.seconds(
        lambda: computed(query.surface, query, NATIVE),
        lambda: answered(query.surface, query.window),
        lambda: array_program(*given),
        lambda: plain_pykrige(*given),
    )
    apart = np.abs(computed(query.surface, query, NATIVE).value - array_program(*given)).max()
    columns = ("native s", "optimised s", "array s", "pykrige s", "native / array", "apart")
    row = (*seconds, seconds[0] / seconds[2], float(apart))
    return Table("E5.2: Q1 beside array programs", columns, (row,))


def rewrite(bench: Bench) -> Table:
    """E5.3: Q1 as written, and with the convert drawn into the alignment."""
    query = queries(bench.readings)["Q1"]
    plans = {"as written": query.surface, "coalesced": coalesced(query.surface)}
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in plans}
    for _ in range(bench.repetitions):
        for name, plan in plans.items():
            execution = Execution(plan, query.window, NATIVE, process_time)
            begun = process_time()
            execution.cells()
            whole = process_time() - begun
            found = {node.name: work.seconds for node, work in execution.work.items()}
            spent[name].append((found.get("clean", 0.0) + found["align"], whole))
    rows = [
        (name, 1e3 * median(part for part, _ in found), 1e3 * median(all_ for _, all_ in found))
        for name, found in spent.items()
    ]
    ratio = [b / a for a, b in zip(rows[0][1:], rows[1][1:], strict=True)]
    columns = ("plan", "convert and align, ms", "Q1, ms")
    return Table("E5.3: rewrite", columns, (*rows, ("ratio", *ratio)))


def buffers(bench: Bench) -> Table:
    """E5.4: Q1 has no overlap, Q5 has."""
    rows: list[tuple[str | float, ...]] = []
    for name in ("Q1", "Q5"):
        query = queries(bench.readings)[name]
        plan = coalesced(query.surface)
        with_, without = bench.seconds(
            lambda plan=plan, query=query: computed(plan, query, Strategy()),
            lambda plan=plan, query=query: computed(plan, query, Strategy(buffered=False)),
        )
        rows.append((name, without, with_, without / with_))
    return Table("E5.4: buffers", ("query", "without s", "with s", "ratio"), tuple(rows))


def strategies(bench: Bench) -> Table:
    """E5.5: hybrid-0 to hybrid-4 on Q1 as written, and what the model says beforehand."""
    query = queries(bench.readings)["Q1"]
    bare = Strategy(buffered=False)
    choice = measured(query.surface, query.window, bare, process_time)
    rows: list[tuple[str | float, ...]] = []
    for top in range(5):
        totals, responses = zip(
            *(_response(query, Strategy(top, buffered=False)) for _ in range(bench.repetitions)),
            strict=True,
        )
        mark = "chosen" if choice.top == top else ""
        name = f"hybrid-{top} {mark}".strip()
        rows.append((name, median(totals), median(responses), choice.response(top)))
    columns = ("strategy", "total s", "response s", "predicted s")
    return Table("E5.5: hybrid-k on Q1", columns, tuple(rows))


def _response(query: Query, strategy: Strategy) -> tuple[float, float]:
    """Return the seconds to the last cell, and to a cell on average."""
    begun, came = process_time(), []
    for block in Execution(query.surface, query.window, strategy).blocks():
        came.append((len(block), process_time() - begun))
    cells = sum(count for count, _ in came)
    return came[-1][1], sum(count * at for count, at in came) / cells


@dataclass(frozen=True, slots=True)
class Course:
    """Values by hour of 28 days: with all cells, and those of the walk, the others smoothed."""

    measure: str
    whole: np.ndarray
    walked: np.ndarray


def walk(bench: Bench) -> tuple[Table, list[Course]]:
    """E5.6: rain and sun by the hour, 15 % of the cells first; at one place, and on a map."""
    rows: list[tuple[str | float, ...]] = []
    courses = []
    for side in (0, 22):
        for measure, high in (("rain_meter", 50.0), ("solar_radiation", 1500.0)):
            query = course(bench.readings, measure, high, side)
            way = Walk(share=0.15, fold=DAY)
            some, whole = bench.seconds(
                lambda query=query, way=way: _walked(query, way),
                lambda query=query: answered(query.surface, query.window),
            )
            cells, everything = _walked(query, way), answered(query.surface, query.window)
            found = Course(measure, *_smoothed(_hourly(cells), _hourly(everything)))
            if not side:
                courses.append(found)
            known = np.isfinite(found.whole)
            like = float(np.corrcoef(found.whole[known], found.walked[known])[0, 1])
            share, where = 100 * len(cells) / len(everything), "map" if side else "place"
            rows.append((measure, where, len(everything), share, some, whole, some / whole, like))
    columns = ("measure", "of", "cells", "walked %", "walk s", "all s", "ratio", "correlation")
    return Table("E5.6: directed random walk", columns, tuple(rows)), courses


def _walked(query: Query, way: Walk) -> Cells:
    """Return what is there when the walk ends."""
    for picture in pictures(query.surface, query.window, way):
        if picture.share >= way.share:
            return picture.cells
    raise AssertionError("a walk reaches its share")


def _hourly(cells: Cells) -> dict[int, float]:
    """Return the mean of each hour of which a cell is there; NaN where none has a value."""
    known = ~np.isnan(cells.value)
    hours, at = np.unique(cells.time, return_inverse=True)
    sums = np.bincount(at[known], cells.value[known], len(hours))
    counts = np.bincount(at[known], minlength=len(hours))
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return dict(zip(hours.tolist(), means.tolist(), strict=True))


def _smoothed(some: dict[int, float], whole: dict[int, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return all hours, and those of a walk, the others as means of what is near in days, hours."""
    at, there = (
        np.array(list(whole)),
        {hour: each for hour, each in some.items() if np.isfinite(each)},
    )
    known, values = np.array(list(there)), np.array(list(there.values()))
    days, hours = np.divmod(at, DAY)
    known_days, known_hours = np.divmod(known, DAY)
    apart = ((days[:, None] - known_days) * 2.0) ** 2 + (hours[:, None] - known_hours) ** 2.0
    weight = np.exp(-apart / 4) + 1e-12
    rest = (weight * values).sum(axis=1) / weight.sum(axis=1)
    walked = [there.get(hour, each) for hour, each in zip(at.tolist(), rest, strict=True)]
    return np.array(list(whole.values())), np.array(walked)


TABLES: dict[str, Callable[[Bench], Table]] = {
    "shares": shares,
    "beside_arrays": beside_arrays,
    "rewrite": rewrite,
    "buffers": buffers,
    "strategies": strategies,
}


def lines(table: Table) -> Iterator[str]:
    """Yield a table as Markdown."""
    yield f"### {table.title}"
    yield "| " + " | ".join(table.columns) + " |"
    yield "|" + " --- |" * len(table.columns)
    for row in table.rows:
        yield "| " + " | ".join(e if isinstance(e, str) else f"{e:.4g}" for e in row) + " |"
