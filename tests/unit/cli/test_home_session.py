from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock.cli.main import main
from penstock.errors import HomeBusyError

FILE = """
home = 'kept'
master = 'spark://file:1'
[spark]
spark.executor.memory = '4g'
spark.executor.cores = 2
[buffers]
each = '1MiB'
[runtime]
slots = 3
[allow]
hosts = ['a', 'b:1']
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what `penstock.connect` is asked for; no home is opened."""
    asked: dict[str, Any] = {}

    def connect(home: str, **options: Any) -> None:
        asked.update(options, home=home)
        raise HomeBusyError("this is enough")

    monkeypatch.setattr(penstock, "connect", connect)
    monkeypatch.chdir(tmp_path)
    Path("script.sql").write_text("SHOW STREAMS;")
    Path("penstock.toml").write_text(FILE)
    return asked


COMMANDS = (["run", "script.sql"], ["sql"], ["serve", "--port", "0"])


@pytest.mark.parametrize("command", COMMANDS, ids=[each[0] for each in COMMANDS])
def test_a_file_reaches_spark_and_the_home_whatever_the_command(
    asked: dict[str, Any], command: list[str]
) -> None:
    assert main([*command, "--conf", "spark.executor.cores=1", "--conf", "spark.x=a=b,c"]) == 1
    assert (asked["home"], asked["master"]) == ("kept", "spark://file:1")
    assert asked["spark_settings"] == {
        "spark.executor.memory": "4g",
        "spark.executor.cores": "1",
        "spark.x": "a=b,c",
    }
    assert asked["bounds"].buffer_bytes == 1 << 20
    assert asked["settings"].slots == 3
    assert asked["hosts"] == ("a", "b:1")


@pytest.mark.parametrize("command", [["demo", "--seconds", "10"], ["explain", "script.sql"]])
def test_what_has_a_home_of_its_own_takes_all_but_that(
    asked: dict[str, Any], command: list[str]
) -> None:
    assert main(command) == 1
    assert asked["home"] != "kept"
    assert asked["master"] == "spark://file:1"
    assert asked["settings"].slots == 3


def test_an_option_goes_before_the_environment_and_that_before_the_file(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_MASTER", "yarn")
    monkeypatch.setenv("PENSTOCK_HOME", "variable")
    assert main(["run", "script.sql", "--home", "option"]) == 1
    assert (asked["home"], asked["master"]) == ("option", "yarn")


@pytest.mark.parametrize(
    "options", [["--config", "nowhere.toml"], ["--conf", "x"], ["--conf", "=x"]]
)
def test_a_setting_that_cannot_be_read_opens_nothing(
    asked: dict[str, Any], options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "script.sql", *options]) == 2
    assert capsys.readouterr().err.startswith("BAD_CONFIGURATION")
    assert asked == {}


@pytest.mark.parametrize(
    "options", [["--home", "x"], ["--master", "x"], ["--conf", "spark.a=b"], ["--config", "x"]]
)
@pytest.mark.usefixtures("asked")
def test_a_server_takes_no_options_of_a_home(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "script.sql", "--url", "http://127.0.0.1:1", *options]) == 2
    assert options[0] in capsys.readouterr().err


@pytest.mark.parametrize("place", ["sqlite:///x", "postgresql://me:s3cret@db:port/x"])
def test_a_journal_that_is_no_place_is_told_without_its_password(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("script.sql").write_text("SHOW STREAMS;")
    assert main(["run", "script.sql", "--journal", place]) == 2
    told = capsys.readouterr().err
    assert told.startswith("BAD_OPTION")
    assert "s3cret" not in told
