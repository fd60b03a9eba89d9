"""The systems of one run, and what is measured of them."""

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.many import tables
from benchmarks.many.environments import FlinkHome, flink_home
from benchmarks.many.live import LiveBench, Phases
from benchmarks.many.processes import CannotCopeError
from benchmarks.many.scenarios import Scenario
from benchmarks.many.systems import (
    Flink,
    Penstock,
    StructuredStreaming,
    System,
    flink_child,
    penstock_child,
    streaming_child,
)
from benchmarks.many.throughput import STREAMING, Bench, Found
from benchmarks.measurement import Outcome
from benchmarks.session import STORES


@dataclass(frozen=True, slots=True)
class Suite:
    """What measures: throughput of all systems, the rest of those that can be added to."""

    bench: Bench
    live: Sequence[LiveBench]
    notes: Sequence[str]

    def throughput(self, scenarios: Sequence[Scenario]) -> Outcome:
        """Measure scenarios one after the other."""
        measured: list[tuple[Scenario, list[Found]]] = []
        for scenario in scenarios:
            print(f"{scenario.name} …", flush=True)
            measured.append((scenario, self.bench.measure(scenario)))
            print("  " + " | ".join(tables.rate_row(*measured[-1])), flush=True)
        return tables.rates(measured, self.notes)

    def starting(self, scenarios: Sequence[Scenario]) -> Outcome:
        """Measure all that it takes to answer, from a process that has not begun."""
        measured = []
        for scenario in scenarios:
            print(f"{scenario.name}, with start-up …", flush=True)
            measured.append((scenario, self.bench.starts(scenario)))
        return tables.starts(measured)

    def creating(self, kinds: Sequence[str], count: int, budget: float) -> Outcome:
        """Measure the creation of queries one by one."""
        measured = []
        for kind in kinds:
            for bench in self.live:
                print(f"{bench.system}: creating {count:,} {kind} …", flush=True)
                with _failing(bench.system):
                    said = bench.create(kind, count, budget)
                    measured.append({"kind": kind, "system": bench.system, **said})
        return tables.creating(measured)

    def adding(self, kinds: Sequence[str], counts: Sequence[int], phases: Phases) -> Outcome:
        """Measure latency beside queries that stand, and while more are added."""
        measured: list[dict[str, Any]] = []
        for kind in kinds:
            for standing in counts:
                for bench in self.live:
                    print(f"{bench.system}: adding to {standing:,} {kind} …", flush=True)
                    with _failing(bench.system):
                        said = bench.add(kind, standing, phases.added, phases)
                        about = {"kind": kind, "standing": standing, "system": bench.system}
                        measured.append({**about, "before_seconds": phases.before, **said})
        return tables.adding(measured)


@contextmanager
def opened_suite(
    directory: Path, cache: Path, peers: Sequence[str], repetitions: int, *, coalesce: bool = False
) -> Iterator[Suite]:
    """Open the systems; their processes end with the block.

    With `coalesce` a run of Penstock or of Structured Streaming takes what files there are, else
    one.
    """
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(penstock_child(directory / "penstock.log"))
        theirs = stack.enter_context(streaming_child(directory / "streaming.log"))
        systems: list[System] = [Penstock(ours, coalesce=coalesce)]
        live = [LiveBench(Penstock.name, ours, directory)]
        notes = ["Medians of runs from the end of the warm files to the last rows due."]
        notes += (
            [
                "Penstock's and Structured Streaming's runs take all files that wait, Penstock's "
                "up to half a million rows."
            ]
            if coalesce
            else []
        )
        if "streaming" in peers:
            systems += [
                StructuredStreaming(theirs, store.name, coalesce=coalesce) for store in STORES
            ]
            live.append(LiveBench(STREAMING, theirs, directory))
        if "flink" in peers:
            home = flink_home(cache)
            child = stack.enter_context(flink_child(home, directory / "flink.log"))
            systems.append(Flink(child, home))
            notes.append(_flink_note(home))
        oracle = StructuredStreaming(theirs)
        yield Suite(Bench(systems, oracle, directory, repetitions), live, notes)


def _flink_note(home: FlinkHome) -> str:
    return (
        f"Flink {home.version} reads the same rows from two {home.form.capitalize()} files, one a "
        "reader, since its source takes files in no certain order. It gets more of them: a run "
        "over the warm ones alone is subtracted. Planning is not counted."
    )


@contextmanager
def _failing(system: str) -> Iterator[None]:
    """Say that a system cannot, and go on."""
    try:
        yield
    except CannotCopeError as error:
        print(f"  {system} cannot: {error}", flush=True)
