"""What was found of flows: profiles, and the tables that plans were chosen from, as a file."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from penstock.functions.tuning.choice import PlanChoice
from penstock.functions.tuning.profile import FunctionProfile, profile_of

COLUMNS = ("plan", "predicted µs a window", "tried µs", "utilisation", "bottleneck")


@dataclass(frozen=True, slots=True)
class TunedLine:
    """One plan of the table."""

    plan: str
    predicted: float
    tried: float | None
    utilisation: float
    bottleneck: str

    def cells(self) -> tuple[str, ...]:
        """Return it as the table shows it."""
        tried = "" if self.tried is None else f"{1e6 * self.tried:,.0f}"
        share = f"{self.utilisation:.1%}" if self.utilisation else ""
        return self.plan, f"{1e6 * self.predicted:,.0f}", tried, share, self.bottleneck


@dataclass(frozen=True, slots=True)
class Tuned:
    """A flow's plan, why it is that one, and the windows that it was chosen for."""

    chosen: str
    written: str
    slots: int
    windows: int
    window_bytes: float
    lines: tuple[TunedLine, ...]
    profile: str

    def text(self) -> str:
        """Return the table, the chosen plan marked."""
        known = profile_of(self.profile)
        size = "" if known is None else f" of {known.size:,} elements"
        rate = 0.0 if known is None else known.windows_a_second
        told = f"{rate:,.1f}" if rate else "nobody knows how many"
        head = (
            f"runs as {self.written}, chosen with {self.windows:,} windows{size} "
            f"at {told} a second, on {self.slots} slots"
        )
        rows = [COLUMNS, *(line.cells() for line in self.lines)]
        widths = [max(len(row[n]) for row in rows) for n in range(len(COLUMNS))]
        marks = ["  ", *("* " if line.plan == self.chosen else "  " for line in self.lines)]
        shown = [mark + _row(row, widths) for mark, row in zip(marks, rows, strict=True)]
        return "\n".join([head, *shown])


def tuned_of(
    choice: PlanChoice, written: str, profile: FunctionProfile, seen: tuple[int, float]
) -> Tuned:
    """Return a choice as it is kept; `seen` is how many windows there were, and their bytes."""
    lines = tuple(
        TunedLine(
            line.plan.name,
            line.prediction.seconds,
            line.tried_seconds,
            choice.utilisation(line),
            line.prediction.bottleneck,
        )
        for line in choice.lines
    )
    return Tuned(
        choice.chosen.name, written, choice.asked.slots, *seen, lines=lines, profile=profile.text()
    )


def write_tuned(path: Path, tuned: dict[str, Tuned]) -> None:
    """Write all of it, whole or not at all."""
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps({name: asdict(each) for name, each in tuned.items()}))
    draft.replace(path)


def read_tuned(path: Path) -> dict[str, Tuned]:
    """Return what was kept; what cannot be read is measured anew."""
    try:
        told = json.loads(path.read_text())
        return {
            name: Tuned(**{**each, "lines": tuple(TunedLine(**line) for line in each["lines"])})
            for name, each in told.items()
        }
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def _row(cells: tuple[str, ...], widths: list[int]) -> str:
    first, *numbers, last = zip(cells, widths, strict=True)
    right = [text.rjust(width) for text, width in numbers]
    return "  ".join([first[0].ljust(first[1]), *right, last[0]]).rstrip()
