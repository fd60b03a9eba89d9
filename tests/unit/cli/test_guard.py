import re
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock import errors
from penstock.cli.guard import exit_code, guarded
from penstock.errors import PenstockError, Place, SqlError


def raising(error: BaseException) -> Callable[[], int]:
    def work() -> int:
        raise error

    return work


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("SqlError", 2),
        ("NotYetError", 2),
        ("UnknownNameError", 2),
        ("UnknownColumnError", 2),
        ("NameTakenError", 2),
        ("CycleError", 2),
        ("InUseError", 2),
        ("BadOptionError", 2),
        ("BadWindowError", 2),
        ("BadQueryError", 2),
        ("TypeMismatchError", 2),
        ("SourceError", 1),
        ("SinkError", 1),
        ("RunError", 1),
        ("DiskFullError", 1),
        ("HomeBusyError", 1),
        ("HomeError", 1),
        ("SparkMissingError", 1),
    ],
)
def test_what_is_written_wrong_is_2_and_what_fails_is_1(name: str, code: int) -> None:
    error: PenstockError = getattr(errors, name)("x")
    assert exit_code(error) == code


def test_an_error_is_told_with_its_place_and_hint(capsys: pytest.CaptureFixture[str]) -> None:
    error = SqlError("unexpected x", hint="leave it out", place=Place(1, 8, "SELECT x"))
    assert guarded(raising(error)) == 2
    told = capsys.readouterr()
    assert told.err == f"{error}\n"
    assert "       ^" in told.err
    assert told.out == ""


def test_work_that_ends_well_gives_its_own_code() -> None:
    assert guarded(lambda: 143) == 143


def test_ctrl_c_is_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(raising(KeyboardInterrupt())) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_a_defect_is_told_in_few_words_and_its_trace_is_kept_in_the_home(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert guarded(raising(ZeroDivisionError("x")), home=str(tmp_path)) == 1
    told = capsys.readouterr().err
    assert "this is a defect" in told
    assert "Traceback" not in told
    kept = re.search(r"its trace is in (\S+)", told)
    assert kept is not None
    path = Path(kept[1])
    assert path.parent == tmp_path
    assert "ZeroDivisionError" in path.read_text()


@pytest.mark.parametrize("home", [None, "/nowhere/at/all"])
def test_without_a_home_the_trace_is_kept_in_the_temporary_directory(
    home: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert guarded(raising(ZeroDivisionError("x")), home=home) == 1
    assert len(list(tmp_path.glob("defect-*.txt"))) == 1
