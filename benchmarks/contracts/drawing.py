"""A picture of latencies and utility by load, for each mode."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.contracts.judging import Found
from benchmarks.contracts.scene import MAX_LATENCY


def draw(found: Sequence[Found], path: Path) -> None:
    """Draw p99 latency and utility, a column for each kind of traffic, where matplotlib is."""
    try:
        from matplotlib import pyplot as plt  # type: ignore[import-not-found]  # noqa: PLC0415
    except ImportError:
        return
    kinds = list(dict.fromkeys(each.phase.traffic for each in found))
    figure, axes = plt.subplots(2, len(kinds), figsize=(4.2 * len(kinds), 6), squeeze=False)
    for column, traffic in enumerate(kinds):
        mine = [each for each in found if each.phase.traffic == traffic]
        for mode in dict.fromkeys(each.phase.mode for each in mine):
            line = [each for each in mine if each.phase.mode == mode]
            loads = [each.phase.load for each in line]
            axes[0][column].plot(loads, [each.p99 for each in line], marker="o", label=mode)
            axes[1][column].plot(loads, [each.utility for each in line], marker="o", label=mode)
        axes[0][column].axhline(MAX_LATENCY, color="grey", linestyle=":", label="promised")
        axes[0][column].set(title=traffic, yscale="log", ylabel="p99 latency, s")
        axes[1][column].set(xlabel="load, times the capacity", ylabel="utility", ylim=(0, 1.05))
        for row in range(2):
            axes[row][column].set_xscale("log", base=2)
            axes[row][column].grid(alpha=0.3)
    axes[0][0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
