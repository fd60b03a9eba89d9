"""SHOW SITES AS JSON, and INTO a file: what sites and phases did, as JSON or as a picture."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.errors import BadOptionError

PHASES = ("partition", "compute", "combine")
SUMS = ("windows_in", "windows_out", "bytes_in", "bytes_out", "held")
TIMES = {"processing_ms": "#0072b2", "communication_ms": "#d55e00", "idle_ms": "#cccccc"}
PICTURE = ".png"
ROW_INCHES = 0.32

Rows = Sequence[Mapping[str, Any]]


def sites_as_json(rows: Rows) -> str:
    """Return what sites did, by themselves and summed up by query and phase."""
    return json.dumps({"phases": phases_of(rows), "sites": [dict(row) for row in rows]}, indent=1)


def phases_of(rows: Rows) -> list[dict[str, Any]]:
    """Return the sums of each phase of each query; idle is what is left of its tasks' time."""
    found = []
    for query in dict.fromkeys(row["query"] for row in rows):
        for phase in PHASES:
            some = [row for row in rows if (row["query"], row["phase"]) == (query, phase)]
            if not some:
                continue
            times = {name: round(sum(row[name] or 0.0 for row in some), 3) for name in TIMES}
            whole = sum(times.values())
            found.append(
                {"query": query, "phase": phase, "sites": len({row["site"] for row in some})}
                | {name: sum(row[name] for row in some) for name in SUMS}
                | times
                | {"idle_share": round(times["idle_ms"] / whole, 3) if whole else None}
            )
    return found


def write_sites(rows: Rows, path: Path) -> None:
    """Write what sites did: a picture, where the file is called so, or JSON."""
    if path.suffix.lower() == PICTURE:
        draw_sites(rows, path)
    else:
        path.write_text(f"{sites_as_json(rows)}\n", encoding="utf-8")


def draw_sites(rows: Rows, path: Path) -> None:
    """Draw the time of each site as a bar; raise where there is no matplotlib to draw it."""
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415
    except ImportError:
        raise BadOptionError(
            "pictures need matplotlib", hint="pip install matplotlib, or INTO 'sites.json'"
        ) from None
    plt.switch_backend("Agg")
    figure, axes = plt.subplots(figsize=(9, 1.6 + ROW_INCHES * max(1, len(rows))))
    left = [0.0] * len(rows)
    for name, colour in TIMES.items():
        values = [row[name] or 0.0 for row in rows]
        axes.barh(range(len(rows)), values, left=left, color=colour, label=name[:-3])
        left = [before + value for before, value in zip(left, values, strict=True)]
    axes.set_yticks(range(len(rows)), [_named(row) for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds since the flow began; idle: of the task that ends at the site")
    axes.set_title("What the sites of flows did", fontsize=10)
    axes.grid(axis="x", alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _named(row: Mapping[str, Any]) -> str:
    return f"{row['query']}  site {row['site']}  {row['phase']}  {row['function']}"
