import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from penstock.cli.stop_signals import StopSignals


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_first_signal_is_only_remembered(number: signal.Signals, code: int) -> None:
    signals = StopSignals()
    assert signals.exit_code == 0
    signals.listen()
    signal.raise_signal(number)
    assert signals.received is number
    assert signals.exit_code == code


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_after_it_ends_the_process_at_once(
    first: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[int] = []
    monkeypatch.setattr(os, "_exit", left.append)
    signals = StopSignals()
    signals.listen()
    signal.raise_signal(first)
    signal.raise_signal(signal.SIGINT)
    assert left == [130]


def test_a_second_sigterm_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "_exit", lambda _: pytest.fail("left"))
    signals = StopSignals()
    signals.listen()
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)
    assert signals.exit_code == 143


KEPT = """
import os, signal
from penstock.cli.stop_signals import StopSignals, sigterm_kept
signals = StopSignals()
with sigterm_kept(signals.listen):
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN  # which Java inherits
    os.kill(os.getpid(), signal.SIGTERM)
    assert signals.received is None
print(signals.exit_code)
"""


def test_a_sigterm_while_spark_starts_is_heard_afterwards() -> None:
    # In a process of its own: here, threads of libraries would take the signal.
    done = subprocess.run([sys.executable, "-c", KEPT], capture_output=True, text=True, check=True)
    assert done.stdout == "143\n"


def test_help_starts_no_thread_and_loads_neither_arrow_nor_spark() -> None:
    code = (
        "import sys, penstock.cli.main; print({'pyarrow', 'pyspark', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


CHILD = """
import subprocess, signal
from penstock.cli.stop_signals import end_children
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # who runs this may have been told to ignore it
child = subprocess.Popen(["sleep", "60"])
end_children()
print(child.wait())
"""


def test_children_are_ended_with_their_parent_s_start() -> None:
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
    assert done.stdout == f"{-signal.SIGHUP}\n"
