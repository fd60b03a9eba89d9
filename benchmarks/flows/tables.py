"""What was found, as tables: megabytes and windows a second, ratios, and the cost of a window."""

import os
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.contest import Paces, kept, rate, spreads
from benchmarks.flows.signals import Signals
from benchmarks.measurement import Outcome

OURS, LOOP, CARRIED, JOBS = "Penstock", "numpy", "carried", "carried in jobs"
ROW, PICKLED, PANDAS = "row UDF", "row UDF, pickled", "pandas UDF"
CHEAP = (OURS, LOOP, CARRIED, JOBS, ROW, PICKLED, PANDAS)
DEAR = (OURS, LOOP, ROW, PANDAS)


@dataclass(frozen=True, slots=True)
class Case:
    """A window size, and what each side did with it."""

    size: Signals
    times: int
    paces: Paces

    def windows(self, side: str) -> float:
        """Return windows a second."""
        return rate(self.paces[side])

    def megabytes(self, side: str) -> float:
        """Return megabytes of input a second."""
        return self.windows(side) * self.size.window_bytes / 1e6

    def overhead(self) -> float:
        """Return the microseconds that a window takes beyond numpy on all cores."""
        cores = os.cpu_count() or 1
        return 1e6 * (1 / self.windows(OURS) - 1 / (cores * self.windows(LOOP)))

    def raw(self) -> dict[str, Any]:
        """Return all of it for the file of results."""
        size = {name: value for name, value in asdict(self.size).items() if name != "path"}
        return {"size": size, "times": self.times, "paces": kept(self.paces)}


def cheap_table(cases: list[Case]) -> Outcome:
    """Return the table of one FFT a channel."""
    best = [max(case.megabytes(CARRIED), case.megabytes(JOBS)) for case in cases]
    rows = [
        [
            f"{case.size.size:,}",
            *(f"{case.megabytes(side):,.1f}" for side in CHEAP),
            f"{case.windows(OURS):,.0f}",
            f"{case.megabytes(OURS) / carried:.2f}",
            f"{case.megabytes(OURS) / case.megabytes(ROW):.1f}x",
            f"{case.megabytes(OURS) / case.megabytes(PANDAS):.1f}x",
            f"{case.overhead():,.0f}",
        ]
        for case, carried in zip(cases, best, strict=True)
    ]
    columns = (
        "samples",
        *(f"{side} (MB/s)" for side in CHEAP),
        "Penstock (windows/s)",
        "of what is carried",
        "over the row UDF",
        "over the pandas UDF",
        "overhead a window (µs)",
    )
    title = "FFT of three channels of complex samples, end to end"
    return Outcome("flows", title, columns, rows, _notes(cases), [case.raw() for case in cases])


def dear_table(cases: list[Case]) -> Outcome:
    """Return the table of a function of a millisecond or more."""
    cores = os.cpu_count() or 1
    rows = [
        [
            f"{case.size.size:,}",
            f"{case.times}",
            f"{1000 / case.windows(LOOP):.2f}",
            *(f"{case.windows(side):,.0f}" for side in DEAR),
            f"{case.windows(OURS) / case.windows(LOOP) / cores:.2f}",
            f"{case.overhead():,.0f}",
        ]
        for case in cases
    ]
    columns = (
        "samples",
        "FFTs",
        "ms a window",
        *(f"{side} (windows/s)" for side in DEAR),
        f"of numpy × {cores}",
        "overhead a window (µs)",
    )
    title = "The same FFT made so often that a window takes a millisecond and more"
    return Outcome("dear", title, columns, rows, _notes(cases), [case.raw() for case in cases])


def degrees_table(cases: list[Case]) -> Outcome:
    """Return the table of one and two branches, and which claims of GSDM's E-2 hold here."""
    sides = list(cases[0].paces)
    rows = [
        [f"{case.size.size:,}", f"{case.times}", *(f"{case.windows(side):,.0f}" for side in sides)]
        for case in cases
    ]
    columns = ("samples", "FFTs", *(f"{side} (windows/s)" for side in sides))
    title = "One branch and two: central (in pieces), window distribute, window split"
    notes = [*_claims(cases), *_notes(cases)[:1]]
    return Outcome("degrees", title, columns, rows, notes, [case.raw() for case in cases])


def _claims(cases: list[Case]) -> list[str]:
    """Return E-2's claims with the cases in which they hold, the better place of each."""

    def best(case: Case, flow: str) -> float:
        return max(case.windows(side) for side in case.paces if side.startswith(flow))

    def held(text: str, holds: list[bool]) -> str:
        names = [f"{c.size.size:,} × {c.times}" for c, h in zip(cases, holds, strict=True) if h]
        return f"{text}: in {len(names)} of {len(cases)} cases ({', '.join(names) or 'none'})"

    return [
        held(
            "a branch in pieces on all cores beats numpy in one thread",
            [best(c, "central") > c.windows(LOOP) for c in cases],
        ),
        held(
            "two branches beat one",
            [max(best(c, "distribute"), best(c, "split")) > best(c, "central") for c in cases],
        ),
        held(
            "E-2, split in two beats distributed to two",
            [best(c, "split") > best(c, "distribute") for c in cases],
        ),
    ]


def _notes(cases: list[Case]) -> list[str]:
    return [
        "Medians. Spectra of all sides were compared with numpy's before anything was timed.",
        "numpy: one thread, a call for each channel of each window, on what is in memory.",
        "carried: the same columns through mapInArrow, untouched; in jobs: one batch job a file.",
        *(f"{case.size.size:,} samples, windows/s: {spreads(case.paces)}" for case in cases),
    ]
