"""A system in a process of its own: asked by lines of JSON, timed, and ended when it is stuck."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

TICKS = os.sysconf("SC_CLK_TCK")
SAMPLE_SECONDS = 0.2
ROOT = Path(__file__).parents[2]
LAST_WORDS = 2_000  # characters of its log that tell why a child died


class CannotCopeError(Exception):
    """A system failed, or did not answer in time. What it says goes into the result."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a child said, and the CPU that its processes had used at moments."""

    said: dict[str, Any]
    moments: tuple[float, ...]
    cpu: tuple[float, ...]

    def cpu_between(self, begin: float, end: float) -> float:
        """Return the CPU seconds used from one moment to another."""
        before, after = np.interp([begin, end], self.moments, self.cpu)
        return float(after - before)


class Child:
    """One process, with all that it starts; begun when it is asked, also after it has died.

    Used by one thread.
    """

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._argv, self._environment, self._log = list(argv), dict(environment), log
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def ask(self, do: str, within: float, **command: Any) -> Answer:
        """Return the answer to a command; a child that gives none `within` seconds is ended."""
        process = self._running()
        assert process.stdin is not None
        process.stdin.write(json.dumps({"do": do, **command}, default=str) + "\n")
        process.stdin.flush()
        usage = _Usage(process.pid)
        line = self._next_line(time.monotonic() + within, usage)
        if not line:
            self.end()
            late = f"gave no answer within {within:.0f} s"
            raise CannotCopeError(late if line is None else self._last_words())
        usage.take()
        said = json.loads(line)
        if "error" in said:
            raise CannotCopeError(said["error"])
        return Answer(said, tuple(usage.moments), tuple(usage.seconds))

    def end(self) -> None:
        """End the process and all that it has started."""
        if (process := self._process) is None:
            return
        self._process = None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdin is not None:
            with contextlib.suppress(OSError):  # a line that it did not take
                process.stdin.close()
        if self._reader is not None:
            self._reader.join()

    def _running(self) -> "subprocess.Popen[str]":
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.end()
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as errors:
            self._process = subprocess.Popen(  # noqa: S603  (our own modules)
                self._argv,
                cwd=ROOT,
                env={**os.environ, **self._environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        self._answers = queue.SimpleQueue()
        self._reader = threading.Thread(target=_read, args=(self._process, self._answers))
        self._reader.daemon = True
        self._reader.start()
        return self._process

    def _next_line(self, until: float, usage: "_Usage") -> str | None:
        """Return the next line, an empty one where the child has died, None where it is late."""
        while (left := until - time.monotonic()) > 0:
            try:
                return self._answers.get(timeout=min(left, SAMPLE_SECONDS))
            except queue.Empty:
                usage.take()
        return None

    def _last_words(self) -> str:
        words = self._log.read_text(errors="replace")[-LAST_WORDS:]
        lines = words.strip().splitlines()
        return f"died: {lines[-1] if lines else 'without a word'}"


class _Usage:
    """CPU seconds of a process group at moments."""

    def __init__(self, group: int) -> None:
        self._group = group
        self.moments: list[float] = []
        self.seconds: list[float] = []
        self.take()

    def take(self) -> None:
        self.moments.append(time.time())
        self.seconds.append(cpu_seconds(self._group))


def _read(process: "subprocess.Popen[str]", answers: "queue.SimpleQueue[str]") -> None:
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            answers.put(line)
    answers.put("")


def cpu_seconds(group: int) -> float:
    """Return the CPU seconds that the processes of a group have used, ended children included."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            cells = stat.read_text().rpartition(")")[2].split()
            if int(cells[2]) == group:
                total += sum(map(int, cells[11:15]))
    return total / TICKS
