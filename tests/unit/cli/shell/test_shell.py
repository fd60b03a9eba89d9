import io
import json
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.cli.formats import FORMATS
from penstock.cli.news import news_of
from penstock.cli.row_printer import Printer
from penstock.cli.screen import Screen
from penstock.cli.shell.dot_commands import DOT_COMMANDS, ShellContext
from penstock.cli.shell.interpreter import Interpreter
from penstock.cli.shell.piped import read_piped
from penstock.cli.shell.terminal import is_whole
from penstock.engine.sinks.sink import Delivery
from penstock.errors import BadOptionError, BadQueryError
from penstock.model.definitions import QueryState
from penstock.runtime.work.subscription import Subscription
from tests.unit.cli.fakes import FakeConnection, Output, Terminal, live_query


class Shell:
    """A shell over a fake connection, and what it writes."""

    def __init__(self, home: Path, most_rows: int | None = None) -> None:
        self.connection = FakeConnection(home)
        self.out, self.err = Output(), Terminal(tty=False)
        screen = Screen(self.out, self.err)
        printer = Printer(FORMATS["json"](lambda: None), screen, most_rows=most_rows)
        news = news_of(self.connection)  # type: ignore[arg-type]
        self.interpreter = Interpreter(
            ShellContext(self.connection, printer, news, FORMATS["json"])
        )  # type: ignore[arg-type]

    def pipe(self, text: str) -> int:
        return read_piped(io.BytesIO(text.encode()), self.interpreter)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_each_statement_is_carried_out_when_it_is_whole(shell: Shell) -> None:
    assert shell.pipe("SHOW\n  STREAMS;\n\nSHOW TABLES; SHOW QUERIES;\nDESCRIBE a") == 0
    assert [text.strip() for text in shell.connection.scripts] == [
        "SHOW\n  STREAMS;",
        "SHOW TABLES; SHOW QUERIES;",
        "DESCRIBE a",
    ]


def test_rows_are_results_and_sentences_are_messages(shell: Shell) -> None:
    shell.connection.tables["SHOW STREAMS"] = pa.table({"stream": ["a"]})
    shell.pipe("SHOW STREAMS; DROP STREAM a;")
    assert json.loads(shell.out.getvalue()) == {"statement": "SHOW STREAMS", "row": {"stream": "a"}}
    assert shell.err.getvalue() == "done\n"


def test_an_error_has_its_place_in_the_whole_input_and_the_rest_goes_on(shell: Shell) -> None:
    assert shell.pipe("SHOW STREAMS;\nSHOW\n  NOTHING;\nSHOW TABLES;\n") == 2
    assert "line 3, column 3" in shell.err.getvalue()
    assert "  NOTHING;\n  ^" in shell.err.getvalue()
    assert shell.connection.scripts[-1].strip() == "SHOW TABLES;"


def test_an_error_of_the_system_is_told_too(shell: Shell) -> None:
    shell.connection.refuse = BadQueryError("no", hint="try another")
    assert shell.pipe("SHOW STREAMS;") == 2
    assert shell.err.getvalue() == "BAD_QUERY: no\nhint: try another\n"


def test_quit_leaves_the_rest_of_the_input_alone(shell: Shell) -> None:
    assert shell.pipe(".quit\nSHOW STREAMS;") == 0
    assert shell.connection.scripts == []


def test_help_lists_every_command(shell: Shell) -> None:
    shell.pipe(".help")
    assert all(command.usage in shell.err.getvalue() for command in DOT_COMMANDS.values())


@pytest.mark.parametrize("line", [".watc q", ".watch", ".watch q x", ".wait 3x"])
def test_a_command_that_makes_no_sense_is_refused(shell: Shell, line: str) -> None:
    assert shell.pipe(line) == 2
    assert shell.err.getvalue()


def test_wait_ends_when_everything_is_delivered(shell: Shell) -> None:
    shell.connection.waits = [lambda: False, lambda: False, lambda: True]
    assert shell.pipe(".wait") == 0
    assert shell.connection.waits == []


def test_wait_ends_after_its_time(shell: Shell) -> None:
    shell.connection.waits = [lambda: False] * 50
    assert shell.pipe(".wait 300ms") == 0
    assert len(shell.connection.waits) == 47


def watched(shell: Shell) -> Subscription:
    """Return a subscription to q that three rows have come to, and that has ended."""
    subscription = Subscription("q")
    shell.connection.subscriptions["q"] = subscription
    subscription.deliver(Delivery("q", 1, pa.table({"x": [1, 2]})))
    subscription.deliver(Delivery("q", 2, pa.table({"x": [3]})))
    subscription.end()
    return subscription


def test_watch_prints_rows_until_the_query_ends(shell: Shell) -> None:
    subscription = watched(shell)
    assert shell.pipe(".watch q") == 0
    assert [json.loads(line)["row"]["x"] for line in shell.out.getvalue().splitlines()] == [1, 2, 3]
    assert "no more rows" in shell.err.getvalue()
    assert subscription.closed


def test_watch_ends_after_a_number_of_rows(shell: Shell) -> None:
    subscription = watched(shell)
    assert shell.pipe(".watch `q` 1;") == 0
    assert [json.loads(line)["row"]["x"] for line in shell.out.getvalue().splitlines()] == [1]
    assert subscription.closed


def test_a_query_that_fails_meanwhile_is_told_of(shell: Shell) -> None:
    shell.connection.system.topology.queries["q"] = live_query("q", QueryState.FAILED, "why")
    shell.pipe("SHOW STREAMS;")
    assert "query q failed" in shell.err.getvalue()


def test_on_a_terminal_a_long_result_is_cut_and_says_so(tmp_path: Path) -> None:
    shell = Shell(tmp_path, most_rows=2)
    shell.connection.tables["SHOW STREAMS"] = pa.table({"stream": ["a", "b", "c"]})
    shell.pipe("SHOW STREAMS;")
    assert len(shell.out.getvalue().splitlines()) == 2
    assert "1 row more" in shell.err.getvalue()


def test_input_that_is_not_utf_8_is_refused(shell: Shell) -> None:
    with pytest.raises(BadOptionError):
        read_piped(io.BytesIO(b"SELECT '\xff';"), shell.interpreter)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", True),
        (".help", True),
        ("SHOW STREAMS;", True),
        ("SHOW STREAMS", False),
        ("a;\nb", False),
    ],
)
def test_enter_carries_out_what_is_whole(text: str, whole: bool) -> None:
    assert is_whole(text) is whole
