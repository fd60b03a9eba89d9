"""Report: an experiment's setting, its table, and which claims of the document held."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

Cell = str | int | float


@dataclass(frozen=True, slots=True)
class Claim:
    """What a document says, and whether this run bears it out."""

    text: str
    held: bool


@dataclass(frozen=True, slots=True)
class Report:
    """What one run of an experiment found."""

    title: str
    setting: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    claims: tuple[Claim, ...]

    def verdict(self) -> str:
        """Return the one line that says which claims held."""
        held = [claim.text for claim in self.claims if claim.held]
        not_held = [claim.text for claim in self.claims if not claim.held]
        parts = [f"held: {'; '.join(held) or 'none'}"]
        parts += [f"did not hold: {'; '.join(not_held)}"] if not_held else []
        return ". ".join(part[0].upper() + part[1:] for part in parts) + "."

    def text(self) -> str:
        """Return all of it for a terminal."""
        verdict = f"\n{self.verdict()}\n" if self.claims else ""
        return f"{self.title}\n{self.setting}\n\n{self._table()}{verdict}"

    def csv(self) -> str:
        """Return the table with all its digits."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return out.getvalue()

    def _table(self) -> str:
        shown = [list(self.columns), *([cell_text(cell) for cell in row] for row in self.rows)]
        widths = [max(len(row[n]) for row in shown) for n in range(len(self.columns))]
        numbers = [not isinstance(cell, str) for cell in self.rows[0]]
        lines = [_line(row, widths, numbers) for row in shown]
        lines.insert(1, "-+-".join("-" * width for width in widths))
        return "\n".join(lines) + "\n"


def cell_text(cell: Cell) -> str:
    """Return a number with the digits that mean something."""
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.4g}"  # noqa: PLR2004
    return str(cell)


def _line(row: Sequence[str], widths: Sequence[int], numbers: Sequence[bool]) -> str:
    cells = [
        text.rjust(width) if number else text.ljust(width)
        for text, width, number in zip(row, widths, numbers, strict=True)
    ]
    return " | ".join(cells).rstrip()
