import json
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.main import main
from penstock.errors import BadOptionError
from penstock.schedule import Choice
from penstock.sim.what_if import Question, what_if
from penstock.sim.workloads.measured_workload import read_measured

MEASURED: dict[str, Any] = {
    "format": 1,
    "slots": 1,
    "strategy": "round_robin",
    "run_seconds": 0.01,
    "streams": [
        {
            "node": "s",
            "stream": "ticks",
            "rate": 100.0,
            "train_rows": 20.0,
            "tuple_bytes": 50.0,
            "valid_for_seconds": 2.0,
        }
    ],
    "nodes": [
        {"node": "f", "inputs": ["s"], "seconds": 1e-4, "selectivity": 0.5, "tuple_bytes": 50.0},
        {"node": "a", "inputs": ["f"], "seconds": 2e-3, "selectivity": 1.0, "tuple_bytes": 8.0},
        {"node": "b", "inputs": ["s"], "seconds": 8e-3, "selectivity": 1.0, "tuple_bytes": None},
    ],
    "queries": [
        {"query": "cheap", "root": "a", "weight": 10.0, "priority": 9},
        {"query": "dear", "root": "b", "weight": 1.0, "priority": 5},
    ],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "measured.json"
    path.write_text(json.dumps(MEASURED))
    return path


def utility(path: Path, strategy: str, rate: float = 1.0, slots: int | None = None) -> float:
    asked = Question([Choice(strategy)], rate, slots, seconds=20)
    found = what_if(read_measured(path), asked).rows[0][1]
    assert isinstance(found, float)
    return found


def test_other_rates_slots_and_strategies_make_the_difference_that_they_should(path: Path) -> None:
    assert utility(path, "round_robin") > 0.99  # a load of 0.91
    crowded = utility(path, "round_robin", rate=2.0)
    assert crowded < 0.7
    # The dear one would need more than a slot, and a unit runs once at a time.
    assert 0.9 < utility(path, "round_robin", rate=2.0, slots=3) < 0.99
    assert utility(path, "optprofit", rate=2.0) > 1.3 * crowded


def test_a_simulation_from_a_file_is_printed(
    path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    asked = ["--strategy", "pcs", "--strategy", "optprofit WITH (handling => profit_dominant)"]
    assert (
        main(["simulate", "--from", str(path), "--slots", "2", "--rate-factor", "3", *asked]) == 0
    )
    printed = capfdbinary.readouterr().out.decode()
    assert "2 slots" in printed
    assert "optprofit WITH (handling => 'profit_dominant')" in printed
    assert "Held" not in printed


@pytest.mark.parametrize(
    "arguments",
    [
        ["--from", "missing.json"],
        ["load", "--from", "measured.json"],
        [],
        ["--from", "measured.json", "--strategy", "fastest"],
        ["--from", "measured.json", "--strategy", "pcs; DROP QUERY x"],
        ["--from", "broken.json"],
        ["--from", "other.json"],
    ],
)
def test_what_cannot_be_simulated_is_told(
    path: Path,
    arguments: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(path.parent)
    Path("broken.json").write_text("{")
    Path("other.json").write_text('{"format": 7}')
    assert main(["simulate", *arguments]) == 2
    told = capsys.readouterr().err
    assert "OPTION" in told
    assert "Traceback" not in told


@pytest.mark.parametrize("lost", ["streams", "nodes", "queries", "slots", "run_seconds"])
def test_a_file_that_lacks_something_is_told(path: Path, lost: str) -> None:
    path.write_text(json.dumps({name: each for name, each in MEASURED.items() if name != lost}))
    with pytest.raises(BadOptionError, match=lost):
        read_measured(path)
