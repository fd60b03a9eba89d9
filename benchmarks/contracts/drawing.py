"""Draws a file of results: run by a Python that has matplotlib, `drawing.py results.json`."""

import json
import sys
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt  # type: ignore[import-not-found]

COLOURS = {
    "gates": "#0072b2",
    "no shedding": "#555555",
    "uniform drop": "#009e73",
    "Structured Streaming": "#d55e00",
}


def main() -> None:
    """Draw p99 latency and utility by load, a column for each kind of traffic."""
    plt.switch_backend("Agg")
    path = Path(sys.argv[1])
    results = json.loads(path.read_text())
    told, found = results["conditions"], results["found"]
    kinds = list(dict.fromkeys(each["phase"]["traffic"] for each in found))
    figure, axes = plt.subplots(2, len(kinds), figsize=(4.2 * len(kinds), 6), squeeze=False)
    for column, traffic in enumerate(kinds):
        mine = [each for each in found if each["phase"]["traffic"] == traffic]
        _column(axes[0][column], axes[1][column], mine, told["max_latency"])
        axes[0][column].set_title(traffic)
    lines, names = max(
        (each.get_legend_handles_labels() for each in axes[0]), key=lambda it: len(it[1])
    )
    figure.legend(lines, names, loc="lower center", ncols=len(names), fontsize=9)
    figure.suptitle(
        f"contracts of {told['max_latency']:g} s under load: "
        f"capacity {told['capacity']:,} rows a second, {told['cores']} cores, {told['date']}",
        fontsize=10,
    )
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(path.with_suffix(".png"), dpi=110)


def _column(late: Any, useful: Any, found: list[dict[str, Any]], promised: float) -> None:
    for mode in dict.fromkeys(each["phase"]["mode"] for each in found):
        line = [each for each in found if each["phase"]["mode"] == mode]
        loads = [each["phase"]["load"] for each in line]
        style = {"marker": "o", "color": COLOURS[mode], "label": mode}
        late.plot(loads, [each["p99"] for each in line], **style)
        useful.plot(loads, [each["utility"] for each in line], **style)
    late.axhline(promised, color="#999999", linestyle=":", label="promised")
    late.set(yscale="log", ylabel="p99 latency, s")
    late.set_ylim(0.2, 60)
    late.set_yticks([0.5, 1, 2, 5, 10, 20, 50], ["0.5", "1", "2", "5", "10", "20", "50"])
    useful.set(xlabel="load, times the capacity", ylabel="utility", ylim=(0, 1.05))
    for axes in (late, useful):
        axes.set_xscale("log", base=2)
        axes.set_xticks([0.5, 1, 2, 4], ["0.5", "1", "2", "4"])
        axes.grid(alpha=0.3)


if __name__ == "__main__":
    main()
