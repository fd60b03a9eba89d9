"""Time, passed in: the wall clock and its twin that tests move by hand."""

import time
from typing import Protocol


class Clock(Protocol):
    """What the runtime asks for the time."""

    def now(self) -> float:
        """Return the seconds since 1970, UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return after that long."""
        ...


class WallClock:
    """The real time."""

    def now(self) -> float:
        """Return the seconds since 1970, UTC."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Return after that long."""
        time.sleep(seconds)


class HandClock:
    """A clock that stands still until it is moved; sleeping moves it."""

    def __init__(self, at: float = 0.0) -> None:
        """Start at `at` seconds since 1970."""
        self._at = at

    def now(self) -> float:
        """Return where the clock was put."""
        return self._at

    def sleep(self, seconds: float) -> None:
        """Move on at once."""
        self._at += seconds
