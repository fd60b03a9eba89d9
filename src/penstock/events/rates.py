"""At most so many a second: a bucket into which tokens drip, one for each tuple to act on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bucket:
    """What was left at a moment (seconds since 1970); a bucket holds one second's worth."""

    tokens: float
    at: float


def full(rate: float, now: float) -> Bucket:
    """Return a bucket from which a second's worth can be taken at once."""
    return Bucket(max(1.0, rate), now)


def take(bucket: Bucket, rate: float, wanted: int, now: float) -> tuple[int, Bucket]:
    """Return how many of those wanted may go now, and the bucket after them."""
    dripped = bucket.tokens + rate * max(0.0, now - bucket.at)
    tokens = min(max(1.0, rate), dripped)
    granted = min(wanted, int(tokens))
    return granted, Bucket(tokens - granted, now)


def ready_at(bucket: Bucket, rate: float) -> float:
    """Return when one more may go."""
    return bucket.at + max(0.0, 1.0 - bucket.tokens) / rate
