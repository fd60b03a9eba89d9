from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.server.access.tokens import TokenFile, find


def test_a_token_is_shown_once_listed_and_revoked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ["--home", str(tmp_path)]
    streams = ["--stream", "a", "--stream", "b"]
    assert main(["token", "make", "ada", "--role", "write", *streams, *home]) == 0
    secret = capsys.readouterr().out.strip()
    found = find(secret, TokenFile(tmp_path).tokens())
    assert found is not None
    assert (found.name, found.streams) == ("ada", {"a", "b"})
    assert main(["token", "list", *home]) == 0
    listed = capsys.readouterr().out
    assert listed.split()[:2] == ["ada", "write"]
    assert secret not in listed
    assert main(["token", "revoke", "ada", *home]) == 0
    assert TokenFile(tmp_path).tokens() == ()


@pytest.mark.parametrize("words", [["make"], ["revoke"], ["revoke", "nobody"], ["make", "a b"]])
def test_what_cannot_be_done_is_told(
    tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["token", *words, "--home", str(tmp_path)]) == 2
    assert capsys.readouterr().err
