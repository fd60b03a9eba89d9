"""`python -m benchmarks.grids`: run the experiments, print tables, draw pictures."""

import argparse
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from benchmarks.grids.experiments import DAY, TABLES, Bench, Course, Table, lines, walk
from benchmarks.grids.queries import field


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=[*TABLES, "walk"], help="some experiments")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--days", type=float, default=45)
    parser.add_argument("--every", type=int, default=145, help="seconds between readings")
    parser.add_argument("--pictures", type=Path, help="where to draw them")
    asked = parser.parse_args()
    plt.switch_backend("Agg")
    bench = Bench(field(asked.days, asked.every), asked.repetitions)
    print(f"{bench.readings.num_rows:,} readings, medians of {asked.repetitions}\n")
    for name, experiment in TABLES.items():
        if not asked.only or name in asked.only:
            table = experiment(bench)
            print("\n".join(lines(table)), flush=True)
            if asked.pictures and name == "strategies":
                _draw_strategies(table, asked.pictures / "hypergrid_strategies.png")
    if not asked.only or "walk" in asked.only:
        table, courses = walk(bench)
        print("\n".join(lines(table)), flush=True)
        if asked.pictures:
            _draw_courses(courses, asked.pictures / "hypergrid_walk.png")


def _draw_strategies(table: Table, path: Path) -> None:
    figure, axes = plt.subplots(figsize=(7, 3.5))
    names = [str(row[0]) for row in table.rows]
    for place, marker in ((1, "o"), (2, "s"), (3, "^")):
        axes.plot(names, [row[place] for row in table.rows], marker=marker)
    axes.legend(table.columns[1:])
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _draw_courses(courses: list[Course], path: Path) -> None:
    figure, axes = plt.subplots(len(courses), 2, figsize=(11, 5), sharex=True, sharey=True)
    for line, course in zip(axes, courses, strict=True):
        for ax, values, title in zip(
            line, (course.walked, course.whole), ("15 %, the rest smoothed", "all"), strict=True
        ):
            ax.imshow(np.reshape(values, (-1, DAY)).T, origin="lower", aspect="auto")
            ax.set_title(f"{course.measure}: {title}", fontsize=9)
    for ax in axes[-1]:
        ax.set_xlabel("days from 20 September 2007")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
