"""Draws a file of results: run by a Python that has matplotlib, `drawing.py results.json`."""

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib import pyplot as plt  # type: ignore[import-not-found]
from matplotlib.ticker import (  # type: ignore[import-not-found]
    LogLocator,
    NullFormatter,
    StrMethodFormatter,
)

COLOURS = {
    "Penstock": "#0072b2",
    "numpy": "#555555",
    "carried": "#009e73",
    "carried in jobs": "#56b4e9",
    "row UDF": "#d55e00",
    "row UDF, pickled": "#e69f00",
    "pandas UDF": "#cc79a7",
}
CHANNEL_BYTES = 24  # of a sample, three channels


def main() -> None:
    """Draw both tables side by side."""
    plt.switch_backend("Agg")
    path = Path(sys.argv[1])
    results = json.loads(path.read_text())
    told = results["conditions"]
    outcomes = results["outcomes"]
    figure, panels = plt.subplots(
        1, len(outcomes), figsize=(0.5 + 5.5 * len(outcomes), 4.6), squeeze=False
    )
    for axes, outcome in zip(panels[0], outcomes, strict=True):
        if outcome["name"] == "degrees":
            _degrees(axes, outcome["raw"])
        else:
            _panel(axes, outcome["raw"], is_cheap=outcome["name"] == "flows")
    about = f"commit {told['commit']}, {told['cores']} cores, load at start {told['load_at_start']}"
    figure.suptitle("FFT of three channels, end to end")
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    figure.text(0.995, 0.005, about, ha="right", va="bottom", fontsize=7, color="#777777")
    figure.savefig(path.with_suffix(".png"), dpi=130)


def _panel(axes: Any, raw: list[dict[str, Any]], *, is_cheap: bool) -> None:
    sizes = [case["size"]["size"] for case in raw]
    for side, colour in COLOURS.items():
        rates = [
            [pace["rows_a_second"] for pace in case["paces"][side]]
            for case in raw
            if side in case["paces"]
        ]
        if not rates:
            continue
        scale = [size * CHANNEL_BYTES / 1e6 if is_cheap else 1.0 for size in sizes]
        middle = [median(each) * by for each, by in zip(rates, scale, strict=True)]
        low = [min(each) * by for each, by in zip(rates, scale, strict=True)]
        high = [max(each) * by for each, by in zip(rates, scale, strict=True)]
        whiskers = [
            [m - a for m, a in zip(middle, low, strict=True)],
            [b - m for m, b in zip(middle, high, strict=True)],
        ]
        axes.errorbar(sizes, middle, whiskers, marker="o", capsize=3, color=colour, label=side)
    axes.set(xscale="log", xlabel="samples a window", yscale="log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("MB of input a second" if is_cheap else "windows a second")
    axes.set_title("one FFT" if is_cheap else "a millisecond and more a window", fontsize=10)
    axes.grid(alpha=0.3)
    low, high = axes.get_ylim()
    axes.set_ylim(low, 2 * high)  # room for the legend
    axes.legend(fontsize=7, ncols=4, loc="upper center")


def _degrees(axes: Any, raw: list[dict[str, Any]]) -> None:
    """Draw sides over one core of numpy, solid in the driver, dashed by workers."""
    names = [f"{case['size']['size']:,} × {case['times']}" for case in raw]
    colours = {"central": "#555555", "distribute": "#0072b2", "split": "#d55e00"}
    rates = [
        {side: median(p["rows_a_second"] for p in paces) for side, paces in case["paces"].items()}
        for case in raw
    ]
    for side in raw[0]["paces"]:
        flow, _, place = side.partition(", ")
        if not place:
            continue
        values = [each[side] / each["numpy"] for each in rates]
        style = "-" if place == "driver" else "--"
        axes.plot(names, values, style, marker="o", color=colours[flow], label=side)
    axes.axhline(1.0, color="#999999", linewidth=0.8)
    axes.set_ylim(bottom=0)
    axes.tick_params(axis="x", labelrotation=30, labelsize=8)
    axes.set(xlabel="samples × FFTs", ylabel="windows a second, over one thread of numpy")
    axes.set_title("one branch and two", fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)


if __name__ == "__main__":
    main()
