"""Results as a Markdown table and as JSON, with what they depend on and nothing that identifies."""

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.measurement import Outcome

RESULTS = Path(__file__).with_name("results")


def conditions(*, repetitions: int, quick: bool) -> dict[str, Any]:
    """Return what the figures depend on."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "penstock": _version("penstock"),
        "commit": _commit(),
        "spark": _version("pyspark"),
        "pyarrow": _version("pyarrow"),
        "python": platform.python_version(),
        "java": _java(),
        "cores": os.cpu_count(),
        "load_at_start": round(os.getloadavg()[0], 1),
        "repetitions": repetitions,
        "quick": quick,
    }


def markdown(outcomes: Sequence[Outcome], about: dict[str, Any]) -> str:
    """Return everything as one document."""
    told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in about.items())
    parts = [f"# Benchmarks\n\n{told}"]
    for outcome in outcomes:
        lines = [
            f"## {outcome.title}",
            "",
            _row(outcome.columns),
            _row(["---"] * len(outcome.columns)),
            *(_row(row) for row in outcome.rows),
            "",
            *(f"- {note}" for note in outcome.notes),
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def write_results(outcomes: Sequence[Outcome], about: dict[str, Any], path: Path | None) -> Path:
    """Write JSON, and Markdown beside it; return where."""
    path = path or RESULTS / f"{about['date']}-{'quick' if about['quick'] else 'all'}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    body = {"conditions": about, "outcomes": [asdict(outcome) for outcome in outcomes]}
    path.write_text(json.dumps(body, indent=1) + "\n")
    path.with_suffix(".md").write_text(markdown(outcomes, about))
    return path


def _commit() -> str:
    """Return the commit, and whether files differ from it."""
    root = Path(__file__).parents[1]
    git = ("git", "-C", str(root))
    asked = (*git, "rev-parse", "--short", "HEAD"), (*git, "status", "--porcelain", "src")
    try:
        commit, changes = (
            subprocess.run(each, capture_output=True, check=True, text=True).stdout.strip()  # noqa: S603  (git, as it stands on PATH)
            for each in asked
        )
    except (OSError, subprocess.CalledProcessError):
        return "none"
    return f"{commit} with changes" if changes else commit


def _java() -> str:
    """Return the version of the Java that Spark starts."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin/java") if home else "java"
    told = subprocess.run([java, "-version"], capture_output=True, check=True, text=True)  # noqa: S603  (as Spark does)
    return told.stderr.split('"')[1]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "from its sources"
