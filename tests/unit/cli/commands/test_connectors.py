import pytest

from penstock.cli.main import main
from penstock.engine.connectors import CONNECTORS


def test_all_connectors_are_listed(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["connectors"]) == 0
    shown = capfdbinary.readouterr().out.decode()
    assert all(name in shown for name in CONNECTORS)


def test_one_connector_is_told_with_its_options(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["connectors", "files"]) == 0
    shown = capfdbinary.readouterr().out.decode()
    assert "files_per_train" in shown
    assert "rate" not in shown


def test_an_unknown_connector_is_told_with_its_near_miss(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["connectors", "file"]) == 2
    assert "did you mean files?" in capsys.readouterr().err
