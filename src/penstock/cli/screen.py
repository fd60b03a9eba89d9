"""The screen: result rows on standard output, all else on standard error, never mixed."""

import os
import sys
import threading
from typing import IO, Any, BinaryIO, Self, TextIO

from rich.cells import set_cell_size

from penstock.cli.guard import FAILED, UNREAD

ERASE = "\r\x1b[2K"
SAY_SECONDS = 1.0  # how long a message waits for rows that go out slowly, before it goes first


class Screen:
    """Writes whole pieces, from any thread, and keeps one live line below them.

    Rows that cannot be written end the process at once: they are not delivered then, and the next
    run delivers them, as after a crash.
    """

    def __init__(self, out: BinaryIO, err: TextIO, *, encoding: str = "utf-8") -> None:
        """Write rows to `out`, which takes `encoding`; the live line needs a terminal as `err`."""
        self._out, self._err, self._encoding = out, err, encoding
        self._lock = threading.Lock()
        self._line = ""
        self.is_live = err.isatty()
        self._shared = self.is_live and out.isatty()

    @classmethod
    def standard(cls) -> Self:
        """Return the screen of this process; files and pipes get UTF-8, a terminal its own."""
        encoding = sys.stdout.encoding if sys.stdout.isatty() else "utf-8"
        return cls(sys.stdout.buffer, sys.stderr, encoding=encoding)

    @property
    def width(self) -> int:
        """Return how many columns the live line may take."""
        return _columns(self._err) or 80

    def columns(self) -> int | None:
        """Return how wide the terminal is that results go to, or None where they go elsewhere."""
        return _columns(self._out) if self._out.isatty() else None

    def rows(self, data: bytes) -> None:
        """Put results out; returns once whatever reads them has taken them."""
        if self._encoding.lower().replace("-", "") != "utf8":
            data = data.decode().encode(self._encoding, "backslashreplace")
        with self._lock:
            if self._shared:
                self._erase()
            self._put_out(data)
            if self._shared:
                self._write(self._line)

    def say(self, text: str) -> None:
        """Tell something beside the results."""
        held = self._lock.acquire(timeout=SAY_SECONDS)
        try:
            self._erase()
            self._write(f"{text}\n{self._line}")
        finally:
            if held:
                self._lock.release()

    def live(self, text: str) -> None:
        """Draw the live line anew, unless rows are going out."""
        if self.is_live and self._lock.acquire(blocking=False):
            try:
                line = text.rstrip()
                self._line = set_cell_size(line, min(len(line), self.width - 1)) if line else ""
                self._write(ERASE + self._line)
            finally:
                self._lock.release()

    def clear(self) -> None:
        """Take the live line away."""
        self.live("")

    def _put_out(self, data: bytes) -> None:
        try:
            self._out.write(data)
            self._out.flush()
        except BrokenPipeError:
            self._leave(UNREAD)
        except OSError as error:
            self._write(f"the results cannot be written: {error.strerror}\n")
            self._leave(FAILED)

    def _erase(self) -> None:
        """Clear the last line: of the live line, or of the ^C that a terminal shows."""
        if self.is_live:
            self._write(ERASE)

    def _write(self, text: str) -> None:
        try:
            self._err.write(text)
            self._err.flush()
        except (OSError, ValueError):  # nobody reads it, or it is closed: results go on
            return

    def _leave(self, code: int) -> None:
        self._erase()
        os._exit(code)


def _columns(stream: IO[Any]) -> int | None:
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):
        return None
