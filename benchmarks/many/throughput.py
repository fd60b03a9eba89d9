"""Rows a second of each system over the same files, its rows compared first."""

import itertools
import random
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks.many.answers import compare
from benchmarks.many.kinds import query_set
from benchmarks.many.load import Load, write_load
from benchmarks.many.processes import CannotCopeError
from benchmarks.many.queries import Query
from benchmarks.many.scenarios import MANY, TOO_MANY, Scenario
from benchmarks.many.systems import Flink, Penstock, Run, StructuredStreaming, System
from benchmarks.measurement import median
from benchmarks.session import STORES

CHECKED = 50  # at most so many queries, drawn by lot, are compared row by row
NOT_WORTH_REPEATING = 0.8  # of the other store's rate: the better one is the peer anyway
STREAMING = "Structured Streaming"
DAYS = itertools.count()


@dataclass(slots=True)
class Found:
    """What was found of one system: its runs, or why there are none."""

    system: str
    load: Load
    runs: list[Run] = field(default_factory=list)
    cannot: str = ""

    @property
    def rates(self) -> list[float]:
        """Return the rows a second of each run."""
        return [self.load.counted_rows / run.seconds for run in self.runs]

    @property
    def rate(self) -> float | None:
        """Return the middle rate, None where the system could not cope."""
        return median(self.rates) if self.runs and not self.cannot else None

    @property
    def cpu_a_million(self) -> float | None:
        """Return the CPU seconds for a million rows."""
        if self.rate is None:
            return None
        used = median(run.cpu_seconds for run in self.runs)
        return used / self.load.counted_rows * 1_000_000

    def told(self) -> dict[str, Any]:
        """Return it for the file of results."""
        return {
            "system": self.system,
            "rows_a_batch": self.load.rows,
            "batches": self.load.batches,
            "warm_batches": self.load.warm,
            "rate": self.rate,
            "rates": self.rates,
            "cpu_a_million": self.cpu_a_million,
            "runs": [asdict(run) for run in self.runs],
            "cannot": self.cannot,
        }


@dataclass(frozen=True, slots=True)
class Bench:
    """The systems that take turns; `oracle` runs the batch queries that all are compared with."""

    systems: Sequence[System]
    oracle: StructuredStreaming
    directory: Path
    repetitions: int

    def measure(self, scenario: Scenario) -> list[Found]:
        """Return what was found of each system."""
        queries = query_set(scenario.kind, scenario.queries)
        systems = [each for each in self.systems if _is_wanted(scenario, each)]
        found = [Found(each.name, _load_of(scenario, each)) for each in systems]
        dispatcher = list(zip(systems, found, strict=True))
        self._check(scenario, queries, dispatcher)
        for _ in range(self.repetitions):
            for system, each in dispatcher:
                if not each.cannot and not _is_beaten(each, found):
                    self._time(system, each, queries, _patience(scenario, system))
        return found

    def starts(self, scenario: Scenario) -> dict[str, list[float]]:
        """Return the seconds in which each system, its process not yet begun, has answered all.

        They take turns, over the same sizes of load, and the rows of all queries are compared.
        """
        queries = query_set(scenario.kind, scenario.queries)
        systems = [each for each in self.systems if _is_wanted(scenario, each)]
        found: dict[str, list[float]] = {each.name: [] for each in systems}
        for _ in range(self.repetitions):
            load = self._written(scenario.size.load)
            expected = load.path / "expected"
            try:
                self.oracle.batch(queries, load, expected, scenario.size.patience)
                for number, system in enumerate(systems):
                    out = load.path / f"told-{number}"
                    system.child.end()
                    began = time.monotonic()
                    system.answer(queries, load, out, scenario.size.patience)
                    found[system.name].append(time.monotonic() - began)
                    until = load.watermark(load.batches)
                    rows = compare(system.name, queries, out, expected, until)
                    seconds = found[system.name][-1]
                    print(f"  {system.name}: {rows:,} rows agree, {seconds:.1f} s", flush=True)
                    system.child.end()
            finally:
                shutil.rmtree(load.path.parent, ignore_errors=True)
        return found

    def _check(
        self, scenario: Scenario, queries: Sequence[Query], dispatcher: list[tuple[System, Found]]
    ) -> None:
        """See that every system says what the batch says. Warms up, too."""
        chosen = random.Random(1).sample(list(queries), min(CHECKED, len(queries)))
        load = self._written(scenario.size.check)
        until, expected = load.watermark(load.batches), load.path / "expected"
        try:
            self.oracle.batch(chosen, load, expected, scenario.size.patience)
            for number, (system, found) in enumerate(dispatcher):
                out = load.path / f"told-{number}"
                try:
                    system.answer(queries, load, out, _patience(scenario, system))
                    rows = compare(system.name, chosen, out, expected, until)
                except CannotCopeError as error:
                    found.cannot = str(error)
                    print(f"  {system.name} cannot: {error}", flush=True)
                else:
                    print(f"  {system.name}: {rows:,} rows agree", flush=True)
        finally:
            shutil.rmtree(load.path.parent, ignore_errors=True)

    def _time(
        self, system: System, found: Found, queries: Sequence[Query], patience: float
    ) -> None:
        load = self._written(found.load)
        try:
            found.runs.append(system.run(queries, load, patience))
            print(f"  {system.name}: {found.rates[-1]:,.0f} rows/s", flush=True)
        except CannotCopeError as error:
            found.cannot = str(error)
            print(f"  {system.name} cannot: {error}", flush=True)
        finally:
            shutil.rmtree(load.path.parent, ignore_errors=True)

    def _written(self, size: Load) -> Load:
        load = size.on_day(next(DAYS), self.directory / uuid4().hex / "load")
        write_load(load)
        return load


def _load_of(scenario: Scenario, system: System) -> Load:
    match system:
        case Flink() | Penstock(coalesce=True):
            return scenario.size.long
        case StructuredStreaming(coalesce=False) if scenario.queries >= MANY:
            return scenario.size.few
        case _:
            return scenario.size.load


def _is_wanted(scenario: Scenario, system: System) -> bool:
    second_store = isinstance(system, StructuredStreaming) and system.store != STORES[0].name
    return scenario.queries < MANY or not second_store


def _patience(scenario: Scenario, system: System) -> float:
    hopeless = isinstance(system, StructuredStreaming) and scenario.queries >= TOO_MANY
    return scenario.size.despair if hopeless else scenario.size.patience


def _is_beaten(one: Found, found: Sequence[Found]) -> bool:
    """Say whether a state store has lost clearly to the other in the first round."""
    rates = {each.system: each.rate for each in found if each.system.startswith(STREAMING)}
    if rates.get(one.system) is None or None in rates.values():
        return False
    return (one.rate or 0) < NOT_WORTH_REPEATING * max(rate or 0 for rate in rates.values())
