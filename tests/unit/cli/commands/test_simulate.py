from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.experiments import EXPERIMENTS, Claim, Effort, Experiment, Report


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(seed: int, effort: Effort) -> Report:
        return Report(
            "Quick", f"{effort.trials} trials", ("seed",), ((seed,),), (Claim("it ran", True),)
        )

    monkeypatch.setitem(EXPERIMENTS, "quick", Experiment("a test", run))


def test_a_report_is_printed_and_written(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    out = tmp_path / "new" / "place"
    assert main(["simulate", "quick", "--seed", "7", "--trials", "2", "--out", str(out)]) == 0
    printed = capfdbinary.readouterr().out.decode()
    assert "2 trials" in printed
    assert printed.endswith("Held: it ran.\n")
    assert (out / "quick.txt").read_text() == printed
    assert (out / "quick.csv").read_text() == "seed\n7\n"


def test_the_experiments_are_listed(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["simulate", "list"]) == 0
    printed = capfdbinary.readouterr().out.decode()
    assert all(name in printed for name in EXPERIMENTS)


def test_an_experiment_that_there_is_not_is_told_with_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["simulate", "nada"]) == 2
    told = capsys.readouterr().err
    assert "UNKNOWN_NAME" in told
    assert "burstiness" in told


def test_a_place_that_cannot_be_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["simulate", "quick", "--out", str(tmp_path / "file")]) == 2
    assert "BAD_OPTION" in capsys.readouterr().err
