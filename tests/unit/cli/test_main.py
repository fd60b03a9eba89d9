import contextlib
import io
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import penstock
from penstock.cli.commands import COMMANDS, load
from penstock.cli.main import main, make_parser
from penstock.cli.stop_signals import StopSignals
from penstock.client import connect
from penstock.errors import (
    BadArgumentError,
    HomeBusyError,
    PenstockError,
    RunError,
    SparkDiedError,
    UnknownColumnError,
)
from penstock.model.definitions import QueryState
from tests.unit.cli.fakes import FakeConnection, live_query, source_reader

SCRIPT = "CREATE QUERY q AS SELECT 1 FROM s; SHOW STREAMS;"
ROWS = pa.table({"x": [1, 2]})


@pytest.fixture
def connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeConnection:
    """Let every command of the test open this."""
    fake = FakeConnection(tmp_path)
    monkeypatch.setattr(penstock, "connect", lambda *_, **__: fake, raising=False)
    monkeypatch.setattr("penstock.cli.stop_signals.StopSignals.listen", lambda _: None)
    return fake


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "script.sql"
    path.write_text(SCRIPT)
    return str(path)


def end(connection: FakeConnection, state: QueryState, cause: str = "") -> Callable[[], bool]:
    """Return a wait in which the query comes to that end."""

    def wait() -> bool:
        connection.deliver("q", ROWS)
        connection.system.topology.queries["q"] = live_query("q", state, cause)
        return True

    return wait


@pytest.mark.parametrize("words", [[], ["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_is_printed_and_all_is_well(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    if words:
        with pytest.raises(SystemExit, match=r"^0$"):
            main(words)
    else:
        assert main(words) == 0
    assert "usage: penstock" in capsys.readouterr().out


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"penstock {penstock.__version__}\n"


def test_the_reference_has_every_command_and_option() -> None:
    reference = (Path(__file__).parents[3] / "docs" / "reference" / "cli.md").read_text()
    for name in COMMANDS:
        parser = make_parser([name])
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as shown:
            parser.parse_args([name, "--help"])
        assert f"penstock {name}" in reference
        missing = set(re.findall(r"--[a-z-]+", shown.getvalue())) - {"--help"}
        assert {option for option in missing if f"`{option}" not in reference} == set(), name


def test_every_command_that_is_listed_can_be_loaded() -> None:
    assert all(load(name).about for name in COMMANDS)


def test_ctrl_c_while_a_command_is_loaded_shows_no_trace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("penstock.cli.main.load", interrupt)
    assert main(["run", "x.sql"]) == 130
    assert capsys.readouterr().err == "\n"


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", "load", "--trials", "0"],
        ["run"],
        ["run", "x.sql", "--for", "soon"],
        ["run", "x.sql", "--for", "3s", "--until-idle"],
        ["run", "x.sql", "--format", "xml"],
        ["run", "x.sql", "--until"],
        ["demo", "--seconds", "1"],
        ["explain"],
    ],
)
def test_a_command_line_that_makes_no_sense_is_2(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("home", ["", " "])
@pytest.mark.parametrize("words", [["run", "x.sql"], ["sql"], ["explain", "x.sql"], ["demo"]])
def test_a_home_without_a_name_is_refused(
    words: list[str], home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--home", home]) == 2
    assert "BAD_OPTION" in capsys.readouterr().err
    with pytest.raises(BadArgumentError):
        connect(home)


def test_a_script_that_does_not_parse_is_2_before_spark_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.sql"
    path.write_text("CREATE QUERY q AS\n  SELEC 1;")
    assert main(["run", str(path)]) == 2
    assert "  SELEC 1;\n  ^" in capsys.readouterr().err


def test_rows_are_printed_and_messages_are_not_among_them(
    connection: FakeConnection, script: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    connection.waits = [end(connection, QueryState.FINISHED)]
    assert main(["run", script, "--until-idle", "--format", "csv"]) == 0
    printed = capfdbinary.readouterr()
    assert printed.out == b"query,x\nq,1\nq,2\n"
    assert printed.err == b"query q runs\ndone\n"
    assert connection.closed


@pytest.mark.parametrize("words", [[], ["--until-idle"]])
def test_a_run_ends_when_rules_have_done_what_its_queries_gave_them_to_do(
    connection: FakeConnection, script: str, words: list[str]
) -> None:
    supervisor, finish = connection.system.supervisor, end(connection, QueryState.FINISHED)

    def finish_and_act() -> bool:
        finish()
        supervisor.acts = True
        return False

    def be_done() -> bool:
        supervisor.acts = False
        return True

    connection.waits = [finish_and_act, lambda: False, be_done]
    assert main(["run", script, *words]) == 0
    assert not connection.waits  # it has waited for all of it


def test_rows_of_a_query_with_into_are_not_printed(
    connection: FakeConnection, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "into.sql"
    path.write_text("CREATE QUERY q_into AS SELECT 1 FROM s;")
    connection.waits = [lambda: connection.deliver("q_into", ROWS) is None]
    assert main(["run", str(path), "--until-idle"]) == 0
    assert capfdbinary.readouterr().out == b""


def test_a_query_that_failed_is_told_of_and_makes_1(
    connection: FakeConnection, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    connection.waits = [end(connection, QueryState.FAILED, "SINK_FAILED: no room")]
    assert main(["run", script]) == 1
    told = capsys.readouterr().err
    assert told.count("SINK_FAILED: no room") == 1
    assert "failed: q" in told


@pytest.mark.parametrize(
    ("error", "code"),
    [(UnknownColumnError("no x"), 2), (RunError("x"), 1), (HomeBusyError("x"), 1)],
)
def test_an_error_of_a_statement_decides_the_exit_code(
    connection: FakeConnection, script: str, error: PenstockError, code: int
) -> None:
    connection.refuse = error
    assert main(["run", script]) == code
    assert connection.closed


def test_what_stops_everything_is_told_and_makes_1(
    connection: FakeConnection, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop() -> bool:
        raise RunError("the journal is gone")

    connection.waits = [stop]
    assert main(["run", script]) == 1
    assert "the journal is gone" in capsys.readouterr().err
    assert connection.closed


def test_a_defect_has_no_stack_trace_on_the_screen(
    connection: FakeConnection, script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    connection.waits = [lambda: bool(1 // 0)]
    assert main(["run", script, "--home", str(tmp_path)]) == 1
    told = capsys.readouterr().err
    assert "this is a defect" in told
    assert "Traceback" not in told
    assert len(list(tmp_path.glob("defect-*.txt"))) == 1


def test_until_idle_refuses_a_source_that_never_ends_before_anything_flows(
    connection: FakeConnection, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    connection.system.topology.source_readers["s"] = source_reader("sensors", bounded=False)
    assert main(["run", script, "--until-idle"]) == 2
    told = capsys.readouterr().err
    assert "BAD_OPTION" in told
    assert "sensors" in told
    assert "bounded => true" in told


def test_a_signal_ends_a_run_that_does_again_what_a_death_interrupted(
    connection: FakeConnection,
    script: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kept: list[StopSignals] = []

    def listen(signals: StopSignals) -> None:
        kept.append(signals)

    monkeypatch.setattr(StopSignals, "listen", listen)

    def ended() -> bool:
        kept[0]._take(signal.SIGTERM, None)
        return False

    connection.system.replays = [lambda: False, ended]
    assert main(["run", script, "--until-idle"]) == 143
    assert "stopped" in capsys.readouterr().err
    assert connection.scripts == []
    assert connection.closed


def test_a_run_ends_after_its_time(connection: FakeConnection, script: str) -> None:
    connection.waits = [lambda: False] * 100_000
    assert main(["run", script, "--for", "50ms"]) == 0
    assert connection.waits


def test_a_run_in_which_nothing_is_left_to_do_says_so(
    connection: FakeConnection, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    connection.system.topology.queries["q"] = live_query("q", QueryState.FINISHED)
    path = Path(script)
    path.write_text("SHOW STREAMS;")
    assert main(["run", script]) == 0
    assert "no query runs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("CREATE QUERY q AS SELECT 1 FROM s;", "IF NOT EXISTS"),
        ("CREATE QUERY IF NOT EXISTS q AS SELECT 1 FROM s;", "same command again"),
        ("CREATE OR REPLACE QUERY q AS SELECT 1 FROM s;", "same command again"),
    ],
)
def test_a_stopped_run_says_how_to_go_on(
    connection: FakeConnection,
    script: str,
    text: str,
    told: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path(script).write_text(text)
    connection.waits = [lambda: False]
    monkeypatch.setattr("penstock.cli.stop_signals.StopSignals.received", signal.SIGINT)
    assert main(["run", script]) == 130
    assert told in capsys.readouterr().err
    assert connection.closed


@pytest.mark.parametrize(("deaths", "code"), [(3, 0), (4, 1)])
def test_a_run_goes_on_with_another_spark_but_not_for_ever(
    connection: FakeConnection,
    script: str,
    capsys: pytest.CaptureFixture[str],
    deaths: int,
    code: int,
) -> None:
    def die() -> bool:
        raise SparkDiedError("Spark has died")

    connection.waits = [*[die] * deaths, end(connection, QueryState.FINISHED)]
    assert main(["run", script, "--until-idle"]) == code
    assert len(connection.scripts) == 1  # it stands already
    told = capsys.readouterr().err
    assert told.count("started again") == 3
    assert told.count("SPARK_DIED") == deaths


def test_a_script_that_may_stand_or_not_is_not_carried_out_again(
    connection: FakeConnection, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    connection.refuse = SparkDiedError("Spark has died")
    assert main(["run", script, "--until-idle"]) == 1
    assert len(connection.scripts) == 1
    assert "SPARK_DIED" in capsys.readouterr().err
