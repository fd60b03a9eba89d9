import sys
from pathlib import Path

import pytest

from penstock.errors import BadOptionError
from penstock.experiments.drawing import _scales, draw
from penstock.sim.report import Report

LINES = Report("Lines", "by load", ("load", "a", "b"), ((0.5, 1.0, 0.5), (1.0, 0.8, 0.2)), ())
NAMED = Report("Named", "by name", ("weights", "a"), (("1 to 2", 0.5), ("1 to 9", 0.7)), ())
METRICS = Report("Bars", "by kind", ("strategy", "s", "bytes"), (("pcs", 1.0, 900.0),), ())
PANELS = Report(
    "Panels",
    "by rule",
    ("load", "strategy", "a", "b", "sum"),
    ((1.5, "x", 0.1, 0.2, 80.0), (2.0, "x", 0.3, 0.1, 90.0)),
    (),
)


@pytest.mark.parametrize("report", [LINES, NAMED, METRICS, PANELS], ids=lambda each: each.title)
def test_a_report_becomes_a_picture(report: Report, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures are drawn where matplotlib is installed")
    draw(report, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(BadOptionError) as raised:
        draw(LINES, tmp_path / "picture.png")
    assert "matplotlib" in raised.value.hint


@pytest.mark.parametrize("rows", [((1,),), ()], ids=["one column", "no rows"])
def test_what_has_nothing_to_be_drawn_says_so(rows: tuple[tuple[int]], tmp_path: Path) -> None:
    with pytest.raises(BadOptionError) as raised:
        draw(Report("Seeds", "", ("seed",), rows, ()), tmp_path / "picture.png")
    assert raised.value.message == "there is nothing to draw"
    assert not (tmp_path / "picture.png").exists()


def test_figures_of_another_scale_stand_apart() -> None:
    assert _scales(PANELS) == [[2, 3], [4]]
