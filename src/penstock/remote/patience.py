"""When a request is tried again, and for how long: pure, the clients wait."""

import random
from dataclasses import dataclass

import httpx

PATIENCE_SECONDS = 30.0  # a restart of a server takes less, with little to do again
FIRST_SECONDS, MOST_SECONDS = 0.1, 5.0
UNAVAILABLE, TOO_MANY, BAD_GATEWAY = 503, 429, 502
# Codes that say that nothing was done, and that it may be asked again.
UNDONE = {"NOT_READY", "TOO_MANY"}
# Codes that a server that is restarted leaves behind.
PASSING = {*UNDONE, "CLOSED", "SPARK_DIED"}


@dataclass(slots=True)
class Tries:
    """The tries of one request, begun at a moment of a clock that only goes on.

    `repeatable` says that to carry it out twice changes nothing.
    """

    patience: float
    began: float
    repeatable: bool
    made: int = 0

    def after_failure(self, failure: httpx.TransportError, now: float) -> float | None:
        """Return how long to wait before a request without an answer is sent again; None: never.

        What never arrived may always be sent; what may have been carried out only if repeatable.
        """
        never_sent = isinstance(failure, httpx.ConnectError | httpx.ConnectTimeout)
        return self.pause(now) if never_sent or self.repeatable else None

    def after_answer(self, response: httpx.Response, code: str, now: float) -> float | None:
        """Return how long to wait where an answer tells of what is over soon, None where not."""
        passes = response.status_code in (UNAVAILABLE, TOO_MANY) and code in UNDONE
        if self.repeatable:
            passes = response.status_code in (UNAVAILABLE, TOO_MANY, BAD_GATEWAY)
        told = response.headers.get("retry-after", "")
        return self.pause(now, float(told) if told.isdecimal() else 0.0) if passes else None

    def pause(self, now: float, at_least: float = 0.0) -> float | None:
        """Return how long to wait before the next try, None where it has been too long."""
        step = min(MOST_SECONDS, FIRST_SECONDS * 2**self.made)
        wait = max(min(at_least, MOST_SECONDS), step * random.uniform(0.5, 1.0))
        self.made += 1
        return None if now + wait > self.began + self.patience else wait
