"""At most so many requests a second of one caller."""

import threading
import time
from dataclasses import dataclass, field

from penstock.errors import TooManyError
from penstock.events.rates import Bucket, full, ready_at, take

HINT = "limits.requests of the configuration allows more"


@dataclass(slots=True)
class RateLimit:
    """A bucket for each caller; None is no limit."""

    rate: int | None
    _buckets: dict[str, Bucket] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def require(self, name: str) -> None:
        """Raise TooManyError where this one comes too early; it says when to come again."""
        if self.rate is None:
            return
        now = time.monotonic()
        with self._lock:
            granted, bucket = take(
                self._buckets.get(name) or full(self.rate, now), self.rate, 1, now
            )
            self._buckets[name] = bucket
        if not granted:
            error = TooManyError(f"more than {self.rate:,} requests a second", hint=HINT)
            error.seconds = ready_at(bucket, self.rate) - now
            raise error
