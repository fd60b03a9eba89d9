"""Drawing: a report's table as a picture, where matplotlib is installed.

The form follows from the table: what is counted over numbers is lines, what is counted by name is
bars, for strategies, queries and settings in a panel for each figure; a second column of names
makes a panel for each value of the first.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.errors import BadOptionError
from penstock.sim.report import Cell, Report

# They differ for the colour-blind, too; lines beyond them are dashed.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555")
MARKERS = "osD^vPX"
HINT = "pip install matplotlib"
ANOTHER_SCALE = 10.0  # times as large: bars would not be seen beside each other

BY_NAME = ("strategy", "query", "setting")  # a panel for each figure

Rows = Sequence[Sequence[Cell]]


def draw(report: Report, path: Path) -> None:
    """Write the picture; raise where there is no matplotlib, or nothing to be seen in one."""
    if not report.rows or not report.columns[1:]:
        raise BadOptionError("there is nothing to draw", hint="the table is all there is")
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415
    except ImportError:
        raise BadOptionError("pictures need matplotlib", hint=HINT) from None
    plt.switch_backend("Agg")
    first, second = report.rows[0][:2]
    if isinstance(second, str):
        figure = _panels(plt, report)
    elif isinstance(first, str) and report.columns[0] in BY_NAME:
        figure = _metrics(plt, report)
    else:
        figure = _lines(plt, report)
    figure.suptitle(report.title, fontsize=11)
    figure.text(0.5, 0.01, report.setting, ha="center", fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.04, 1, 0.97))
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _lines(plt: Any, report: Report) -> Any:
    figure, axes = plt.subplots(figsize=(8.4, 4.4))
    points = [row[0] for row in report.rows]
    named = isinstance(points[0], str)
    places = list(range(len(points))) if named else points
    for place, name in enumerate(report.columns[1:]):
        axes.plot(
            places,
            [row[place + 1] for row in report.rows],
            color=COLOURS[place % len(COLOURS)],
            marker=MARKERS[place % len(MARKERS)],
            linestyle="-" if place < len(COLOURS) else "--",
            label=name,
        )
    if named:
        axes.set_xticks(places, points)
    axes.set_xlabel(report.columns[0])
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))
    return figure


def _metrics(plt: Any, report: Report) -> Any:
    """Draw a panel for each figure, a bar for each strategy."""
    metrics = report.columns[1:]
    figure, panels = plt.subplots(
        1, len(metrics), figsize=(1 + 2.4 * len(metrics), 3.8), squeeze=False
    )
    names = [str(row[0]) for row in report.rows]
    for place, (metric, axes) in enumerate(zip(metrics, panels[0], strict=True)):
        values = [row[place + 1] for row in report.rows]
        colours = [COLOURS[n % len(COLOURS)] for n in range(len(values))]
        axes.barh(names[::-1], values[::-1], color=colours[::-1])
        axes.set_title(metric, fontsize=9)
        axes.tick_params(labelsize=7)
        axes.ticklabel_format(axis="x", scilimits=(-2, 4))
        if place:
            axes.set_yticklabels([])
        axes.grid(axis="x", alpha=0.3)
    return figure


def _panels(plt: Any, report: Report) -> Any:
    """Draw a panel for each value of the first column, bars by the names of the second.

    Figures of another scale stand in a row of their own.
    """
    values = list(dict.fromkeys(row[0] for row in report.rows))
    scales = _scales(report)
    figure, panels = plt.subplots(
        len(scales),
        len(values),
        figsize=(1.5 + 3.6 * len(values), 1.4 + 2.6 * len(scales)),
        squeeze=False,
        sharex="col",
        sharey="row",
    )
    for line, places in zip(panels, scales, strict=True):
        for value, axes in zip(values, line, strict=True):
            rows = [row for row in report.rows if row[0] == value]
            _bars(axes, report, rows, places)
            axes.set_title(f"{report.columns[0]} {value}", fontsize=9)
        line[-1].legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))
    return figure


def _bars(axes: Any, report: Report, rows: Rows, places: Sequence[int]) -> None:
    width = 0.8 / len(places)
    for number, place in enumerate(places):
        at = [n + (number - (len(places) - 1) / 2) * width for n in range(len(rows))]
        colour = COLOURS[(place - 2) % len(COLOURS)]
        axes.bar(at, [row[place] for row in rows], width, color=colour, label=report.columns[place])
    names = [str(row[1]) for row in rows]
    axes.set_xticks(range(len(rows)), names, rotation=25, ha="right", fontsize=7)
    axes.grid(axis="y", alpha=0.3)


def _scales(report: Report) -> list[list[int]]:
    """Return the columns of figures, those of one scale together."""
    found: list[tuple[float, list[int]]] = []
    for place in range(2, len(report.columns)):
        most = max(float(row[place]) for row in report.rows)
        if found and most < ANOTHER_SCALE * found[-1][0] and found[-1][0] < ANOTHER_SCALE * most:
            found[-1][1].append(place)
        else:
            found.append((most, [place]))
    return [places for _, places in found]
