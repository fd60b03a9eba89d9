"""Cancelling what a thread waits for, from another thread."""

from collections.abc import Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from contextvars import ContextVar


class Cancellation:
    """What may be cancelled, once; `future` is done from then on."""

    def __init__(self) -> None:
        self.future: Future[None] = Future()

    def cancel(self) -> None:
        """Let the one who waits go, with CancelledError; without one nothing happens."""
        with suppress(InvalidStateError):
            self.future.set_result(None)

    @property
    def is_cancelled(self) -> bool:
        """Say whether it was."""
        return self.future.done()


_current: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)


@contextmanager
def cancellable(cancellation: Cancellation) -> Iterator[None]:
    """Let what this thread waits for inside be cancelled."""
    before = _current.set(cancellation)
    try:
        yield
    finally:
        _current.reset(before)


def current() -> Cancellation | None:
    """Return what cancels the work of this thread, if anything."""
    return _current.get()
