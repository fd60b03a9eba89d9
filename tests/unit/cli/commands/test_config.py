from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.server.configuration import resolved


def test_what_is_shown_is_a_file_that_says_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_LIMITS_BODY", "1MiB")
    Path("penstock.toml").write_text(
        "[log]\nlevel = 'error'\n[spark]\na.b = 'c'\n"
        f"[tokens.'a@b']\nrole = 'read'\nsha256 = '{'0' * 64}'\nstreams = ['s']"
    )
    assert main(["config", "--port", "9", "--writable", "x", "--writable", "y"]) == 0
    shown = capsys.readouterr().out
    assert "port = 9  # --port" in shown
    assert "body = 1048576  # PENSTOCK_LIMITS_BODY" in shown
    assert 'level = "error"  # penstock.toml' in shown
    Path("again.toml").write_text(shown)
    again = resolved({}, {}, "again.toml")
    assert again == resolved(
        {"http.port": 9, "allow.writable": ["x", "y"]}, {"PENSTOCK_LIMITS_BODY": "1MiB"}
    )


def test_a_setting_that_does_not_fit_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--port", "many"]) == 2
    assert capsys.readouterr().err.startswith("BAD_CONFIGURATION")


def test_the_password_of_a_journal_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    url = "postgresql://me:s3cret@db/streams?schema=mine"
    assert main(["config", "--journal", url]) == 0
    shown = capsys.readouterr().out
    assert 'journal = "postgresql://me:…@db/streams?schema=mine"  # --journal' in shown
    assert "s3cret" not in shown
