import errno
import os

import pytest

from penstock.cli.screen import ERASE, Screen
from tests.unit.cli.fakes import Output, Terminal


def test_rows_go_to_standard_output_and_messages_to_standard_error() -> None:
    out, err = Output(), Terminal(tty=False)
    screen = Screen(out, err)
    screen.rows(b"row\n")
    screen.say("message")
    assert (out.getvalue(), err.getvalue()) == (b"row\n", "message\n")


def test_without_a_terminal_there_is_no_live_line() -> None:
    err = Terminal(tty=False)
    screen = Screen(Output(), err)
    screen.live("in 3/s")
    screen.clear()
    assert err.getvalue() == ""
    assert not screen.is_live


def test_the_live_line_is_erased_before_rows_on_the_same_terminal_and_comes_back() -> None:
    err = Terminal(tty=True)
    screen = Screen(Output(tty=True), err)
    screen.live("in 3/s")
    assert err.getvalue() == f"{ERASE}in 3/s"
    screen.rows(b"row\n")
    assert err.getvalue() == f"{ERASE}in 3/s{ERASE}in 3/s"


def test_the_live_line_stays_when_rows_go_to_a_file() -> None:
    err = Terminal(tty=True)
    screen = Screen(Output(), err)
    screen.live("in 3/s")
    screen.rows(b"row\n")
    assert err.getvalue() == f"{ERASE}in 3/s"


def test_a_message_takes_the_live_line_s_place_and_the_line_comes_below_it() -> None:
    err = Terminal(tty=True)
    screen = Screen(Output(tty=True), err)
    screen.live("in 3/s")
    screen.say("message")
    assert err.getvalue() == f"{ERASE}in 3/s{ERASE}message\nin 3/s"
    screen.clear()
    screen.say("last")
    assert err.getvalue().endswith(f"in 3/s{ERASE}{ERASE}last\n")


def test_the_control_c_that_a_terminal_shows_is_erased_too() -> None:
    err = Terminal(tty=True)
    Screen(Output(tty=True), err).say("stopping")
    assert err.getvalue() == f"{ERASE}stopping\n"


def test_the_live_line_never_breaks_into_two() -> None:
    err = Terminal(tty=True)
    screen = Screen(Output(tty=True), err)
    screen.live("x" * 500)
    assert len(err.getvalue()) == len(ERASE) + screen.width - 1


def test_a_terminal_gets_escapes_for_what_its_encoding_lacks() -> None:
    out = Output(tty=True)
    Screen(out, Terminal(tty=True), encoding="latin-1").rows("ü→".encode())
    assert out.getvalue() == b"\xfc\\u2192"


@pytest.mark.parametrize(
    ("error", "code"),
    [(BrokenPipeError(errno.EPIPE, "Broken pipe"), 141), (OSError(errno.ENOSPC, "full"), 1)],
)
def test_rows_that_cannot_be_written_end_the_process_before_they_count(
    error: OSError, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[int] = []
    monkeypatch.setattr(os, "_exit", left.append)
    Screen(Output(refuse=error), Terminal(tty=False)).rows(b"row\n")
    assert left == [code]


def test_a_standard_error_that_is_closed_does_not_stop_the_results() -> None:
    out, err = Output(), Terminal(tty=False)
    screen = Screen(out, err)
    err.close()
    screen.say("message")
    screen.rows(b"row\n")
    assert out.getvalue() == b"row\n"
