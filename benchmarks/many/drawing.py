"""Draws a file of results: run by a Python that has matplotlib, `drawing.py results.json`."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt  # type: ignore[import-not-found]
from matplotlib.ticker import (  # type: ignore[import-not-found]
    LogLocator,
    NullFormatter,
    StrMethodFormatter,
)

# One colour a system in every plot; they differ for the colour-blind, too.
COLOURS = {"Penstock": "#0072b2", "Structured Streaming": "#d55e00", "Flink SQL": "#009e73"}
MARKERS = {"Penstock": "o", "Structured Streaming": "s", "Flink SQL": "^"}
Raw = Sequence[Mapping[str, Any]]


def main() -> None:
    """Draw what the file has."""
    plt.switch_backend("Agg")
    path = Path(sys.argv[1])
    results = json.loads(path.read_text())
    told = results["conditions"]
    about = f"commit {told['commit']}, {told['cores']} cores, load at start {told['load_at_start']}"
    drawings = {"throughput": throughput, "create": creating, "add": adding}
    for outcome in results["outcomes"]:
        if outcome["raw"] and outcome["name"] in drawings:
            figure = drawings[outcome["name"]](outcome["raw"])
            figure.text(0.995, 0.005, about, ha="right", va="bottom", fontsize=7, color="#777777")
            figure.savefig(path.with_name(f"{path.stem}-{outcome['name']}.png"), dpi=130)


def throughput(raw: Raw) -> Any:
    """Draw rows a second over the number of queries, a panel a kind; bars where one number."""
    if len({each["queries"] for each in raw}) == 1:
        return _bars(raw)
    kinds = list(dict.fromkeys(each["kind"] for each in raw))
    figure, panels = plt.subplots(
        1, len(kinds), figsize=(1.2 + 3.4 * len(kinds), 3.9), sharey=True, squeeze=False
    )
    for kind, axes in zip(kinds, panels[0], strict=True):
        own = [each for each in raw if each["kind"] == kind]
        for system, colour in COLOURS.items():
            points = [(each["queries"], _best(each, system)) for each in own]
            shown = [(count, found) for count, found in points if found and found["rate"]]
            if shown:
                counts = [count for count, _ in shown]
                middle = [found["rate"] for _, found in shown]
                axes.errorbar(
                    counts,
                    middle,
                    yerr=_whiskers([found for _, found in shown]),
                    color=colour,
                    marker=MARKERS[system],
                    capsize=3,
                    label=system,
                )
        axes.set(xscale="log", title=kind, xlabel="queries")
        _logarithmic(axes)
        ticks = sorted({each["queries"] for each in own})
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.grid(alpha=0.3)
    panels[0][0].set_ylabel("rows of input a second")
    panels[0][0].legend(fontsize=8)
    return _titled(figure, "Many queries over the same files")


def _bars(raw: Raw) -> Any:
    figure, axes = plt.subplots(figsize=(2.5 + 1.7 * len(raw), 3.9))
    width = 0.8 / len(COLOURS)
    for place, (system, colour) in enumerate(COLOURS.items()):
        for at, each in enumerate(raw):
            found = _best(each, system)
            x = at + (place - 1) * width
            if found and found["rate"]:
                label = system if system not in axes.get_legend_handles_labels()[1] else None
                bar = axes.bar(x, found["rate"], width, color=colour, label=label)
                axes.errorbar(x, found["rate"], _whiskers([found]), color="#333333", capsize=3)
                axes.bar_label(bar, [f"{found['rate']:,.0f}"], fontsize=7, padding=6)
            elif found:
                low = axes.get_xaxis_transform()
                axes.text(x, 0.02, "cannot", transform=low, rotation=90, ha="center", fontsize=8)
    names = [f"{each['queries']:,} {each['kind']}" for each in raw]
    axes.set_xticks(range(len(raw)), names)
    axes.set_ylabel("rows of input a second")
    _logarithmic(axes)
    rates = [one["rate"] for each in raw for one in each["found"] if one["rate"]]
    axes.set_ylim(10 ** math.floor(math.log10(min(rates, default=10) / 2)), 2 * axes.get_ylim()[1])
    axes.legend(fontsize=8, ncols=len(COLOURS), loc="lower center", bbox_to_anchor=(0.5, 1))
    axes.grid(axis="y", alpha=0.3)
    return _titled(figure, "Many queries over the same files")


def creating(raw: Raw) -> Any:
    """Draw how long each creation took, and the memory held."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.9))
    for each in raw:
        colour, name = COLOURS[each["system"]], f"{each['system']}, {each['kind']}"
        seconds = each["seconds"]
        numbers = range(1, len(seconds) + 1)
        left.plot(numbers, [1000 * s for s in seconds], ".", ms=3, color=colour, label=name)
        counts = [point["queries"] for point in each["memory"]]
        first = each["memory"][0]
        for what, style in (("python", "-"), ("heap", "--")):
            grown = [(point[what] - first[what]) / 1e6 for point in each["memory"]]
            told = "Python" if what == "python" else "JVM heap"
            right.plot(counts, grown, style, marker="o", color=colour, label=f"{name}: {told}")
    left.set(xlabel="query number", ylabel="ms to create it", title="time")
    _logarithmic(left)
    right.set(xlabel="queries", ylabel="MB more than with none", title="memory")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7, handlelength=4)
    return _titled(figure, "Creating queries one by one")


def adding(raw: Raw) -> Any:
    """Draw the probes' latencies over time, a panel a system and number of standing queries."""
    figure, panels = plt.subplots(
        1, len(raw), figsize=(1.2 + 4.2 * len(raw), 3.9), sharey=True, squeeze=False
    )
    for each, axes in zip(raw, panels[0], strict=True):
        begin, end = each["added"]
        axes.axvspan(0, end - begin, color="#999999", alpha=0.25, label="queries are added")
        for probe, style in (("filter", "."), ("windows", "x")):
            points = [(at - begin, ms) for at, ms in each["latencies"][probe]]
            points = [point for point in points if point[0] >= -each["before_seconds"]]
            colour = COLOURS[each["system"]] if probe == "windows" else "#555555"
            size = 2 if probe == "filter" else 5
            at, took = [point[0] for point in points], [point[1] for point in points]
            axes.plot(at, took, style, ms=size, color=colour, label=probe)
        axes.set_xlabel("seconds")
        _logarithmic(axes)
        axes.set_title(f"{each['system']}: {each['standing']:,} {each['kind']}", fontsize=9)
        axes.grid(alpha=0.3)
    panels[0][0].set_ylabel("ms from push to subscriber")
    panels[0][0].legend(fontsize=7)
    return _titled(figure, "Adding queries to a running system")


def _best(each: Mapping[str, Any], system: str) -> Mapping[str, Any] | None:
    """Return what was found of a system, the better of its state stores."""
    found = [one for one in each["found"] if one["system"].startswith(system)]
    return max(found, key=lambda one: one["rate"] or 0, default=None)


def _whiskers(found: Raw) -> list[list[float]]:
    return [
        [one["rate"] - min(one["rates"]) for one in found],
        [max(one["rates"]) - one["rate"] for one in found],
    ]


def _logarithmic(axes: Any) -> None:
    """Let the upright axis be logarithmic, with plain numbers."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _titled(figure: Any, title: str) -> Any:
    figure.suptitle(title)
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    return figure


if __name__ == "__main__":
    main()
