"""Ctrl-C and SIGTERM, asked for rather than thrown: a run finishes its unit first."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType


class StopSignals:
    """Remembers the first SIGINT or SIGTERM; Ctrl-C after that ends the process at once.

    A second SIGTERM changes nothing: `timeout` sends two.
    """

    received: signal.Signals | None = None

    def listen(self) -> None:
        """Take the signals from now on."""
        signal.signal(signal.SIGINT, self._take)
        signal.signal(signal.SIGTERM, self._take)

    @property
    def exit_code(self) -> int:
        """Return the exit code that tells of the signal, 0 without one."""
        return 0 if self.received is None else 128 + self.received

    def _take(self, number: int, _: FrameType | None) -> None:
        # No lock may be taken here: the main thread may hold it.
        if self.received is not None and number == signal.SIGINT:
            os._exit(128 + number)
        self.received = self.received or signal.Signals(number)


@contextmanager
def sigterm_blocked() -> Iterator[None]:
    """Keep SIGTERM from this thread, and for good from those that it starts meanwhile."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


@contextmanager
def sigterm_kept(listen: Callable[[], None]) -> Iterator[None]:
    """Keep SIGTERM while Spark's Java starts, which inherits that it is ignored; then `listen`.

    Whoever ends a whole process group (`timeout`, a service manager) would otherwise take Spark
    away from under the units that are to be finished. Java ends with our end of its pipe. A signal
    that every thread blocks waits, even where it is ignored; where one does not, it is lost.
    """
    with sigterm_blocked():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            yield
        finally:
            listen()  # anew: Spark puts a handler of its own on SIGINT


def end_children() -> None:
    """End the processes that this one has started; Java takes SIGHUP as a wish to end well.

    Spark's launcher forgets its Java where Ctrl-C comes between its start and its first word,
    and that Java would wait for ever.
    """
    for listed in Path("/proc/self/task").glob("*/children"):
        for child in listed.read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGHUP)
