"""What sites did, summed up by phase, as JSON and as a picture."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.runtime.views.site_report import draw_sites, phases_of, sites_as_json


def row(query: str, site: int, phase: str, **figures: Any) -> dict[str, Any]:
    none = dict.fromkeys(("windows_in", "windows_out", "bytes_in", "bytes_out", "held"), 0)
    times = {"processing_ms": 0.0, "communication_ms": 0.0, "idle_ms": None, "idle_share": None}
    return {"query": query, "site": site, "phase": phase, "function": "f", **none, **times} | (
        figures
    )


ROWS = [
    row("a", 0, "partition", windows_in=10, windows_out=5, processing_ms=1.0),
    row("a", 0, "partition", windows_in=10, windows_out=5, processing_ms=2.0),
    row("a", 1, "compute", windows_in=5, processing_ms=6.0, communication_ms=1.0, idle_ms=1.0),
    row("a", 2, "compute", windows_in=5, processing_ms=4.0, communication_ms=1.0, idle_ms=3.0),
    row("b", 0, "compute", windows_in=7),
]


def test_phases_are_the_sums_of_their_sites() -> None:
    partition, compute, other = phases_of(ROWS)
    assert (partition["query"], partition["phase"], partition["sites"]) == ("a", "partition", 1)
    assert (partition["windows_in"], partition["processing_ms"]) == (20, 3.0)
    assert (compute["sites"], compute["processing_ms"], compute["communication_ms"]) == (2, 10, 2)
    assert compute["idle_share"] == 0.25
    assert (other["query"], other["windows_in"], other["idle_share"]) == ("b", 7, None)


def test_json_has_sites_and_phases() -> None:
    told = json.loads(sites_as_json(ROWS))
    assert told["sites"] == ROWS
    assert told["phases"] == phases_of(ROWS)
    assert json.loads(sites_as_json([])) == {"phases": [], "sites": []}


@pytest.mark.parametrize("rows", [ROWS, []])
def test_a_picture_is_drawn(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    pytest.importorskip("matplotlib", reason="pictures are drawn where matplotlib is installed")
    draw_sites(rows, tmp_path / "sites.png")
    assert (tmp_path / "sites.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PenstockError) as raised:
        draw_sites(ROWS, tmp_path / "sites.png")
    assert raised.value.code == "BAD_OPTION"
