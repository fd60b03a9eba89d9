"""Whatever a command ends with, as an exit code and a few words on standard error.

| code | meaning |
| --- | --- |
| 0 | done |
| 1 | something failed while it ran |
| 2 | the command line or the SQL is wrong |
| 128 + n | ended by signal n: 130 Ctrl-C, 141 nobody reads the output, 143 SIGTERM |
"""

import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from penstock import __version__
from penstock.errors import (
    DiskFullError,
    HomeBusyError,
    HomeError,
    PenstockError,
    RunError,
    SinkError,
    SourceError,
    SparkDiedError,
    SparkMissingError,
    StalledError,
    WorkersUnlikeError,
)

FAILED, WRONG = 1, 2
INTERRUPTED = 128 + signal.SIGINT
UNREAD = 128 + signal.SIGPIPE
# What the world does to a run; every other error is in what the user wrote.
AT_RUN_TIME = (
    DiskFullError,
    HomeBusyError,
    HomeError,
    RunError,
    SinkError,
    SourceError,
    SparkDiedError,
    SparkMissingError,
    StalledError,
    WorkersUnlikeError,
)


def guarded(work: Callable[[], int], *, home: str | None = None) -> int:
    """Return the exit code of the work; nothing that it raises ends in a stack trace."""
    try:
        return work()
    except PenstockError as error:
        print(error, file=sys.stderr)
        return exit_code(error)
    except KeyboardInterrupt:
        print(file=sys.stderr)  # the terminal's ^C stands on the line
        return INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        return UNREAD
    except Exception as error:
        print(defect_told(error, home), file=sys.stderr)
        return FAILED


def exit_code(error: PenstockError) -> int:
    """Return the exit code of an error that a user can meet."""
    return FAILED if isinstance(error, AT_RUN_TIME) else WRONG


def defect_told(error: BaseException, home: str | None) -> str:
    """Write the trace of a defect to a file, and return what to tell of it."""
    sentence = f"{type(error).__name__}: {error}".splitlines()[0]
    try:
        kept = f"its trace is in {_write_trace(error, home)}"
    except OSError as trouble:
        kept = f"its trace could not be written: {trouble}"
    return f"{sentence}\nthis is a defect of Penstock, not of your script; {kept}"


def _write_trace(error: BaseException, home: str | None) -> Path:
    at = datetime.now(UTC)
    directory = Path(home).expanduser().absolute() if home else None
    if directory is None or not directory.is_dir() or not os.access(directory, os.W_OK):
        directory = Path(tempfile.gettempdir())
    path = directory / f"defect-{at:%Y%m%d-%H%M%S}-{os.getpid()}.txt"
    trace = "".join(traceback.format_exception(error))
    path.write_text(f"penstock {__version__}, {at.isoformat()}, {sys.argv}\n{trace}")
    return path


def _forget_output() -> None:
    """Send Python's own last flush nowhere: the reader of our output has left."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
