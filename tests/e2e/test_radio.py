"""The example of three antennas: from signals to pictures that show what was sent."""

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection, connect

RADIO = Path(__file__).parents[2] / "examples/radio"
WINDOWS = 64


@pytest.mark.spark
def test_the_example_ends_in_pictures(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def connected(home: str, **given: Any) -> Connection:
        return connect(home, spark=spark, **given)

    monkeypatch.setattr(penstock, "connect", connected)
    monkeypatch.syspath_prepend(str(RADIO))
    for name in ("drawing", "signals"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    runpy.run_path(str(RADIO / "radio.py"))["main"](tmp_path, WINDOWS)
    for name in ("spectrogram", "circular"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    sites = json.loads((tmp_path / "sites.json").read_text())
    by_phase = {(each["query"], each["phase"]): each for each in sites["phases"]}
    combined = by_phase["ellipses", "combine"]
    assert (combined["windows_in"], combined["windows_out"]) == (2 * WINDOWS, WINDOWS)
    assert by_phase["ellipses", "partition"]["windows_in"] == 2 * WINDOWS  # each branch its share
    told = capsys.readouterr().out
    assert f"{WINDOWS} windows" in told
    assert "ellipses" in told
    assert "os_join" in told
