"""When an action that failed is tried again."""

from penstock.model.rules import ActionLimits

LONGEST_WAIT = 60.0  # seconds: twice and twice again must not become days


def next_try(limits: ActionLimits, tries: int, now: float) -> float | None:
    """Return when to try again after so many tries, or None where it is enough.

    Each wait is twice the one before it.
    """
    if tries > limits.retries:
        return None
    wait = limits.backoff.total_seconds() * 2.0 ** min(tries - 1, 20)
    return now + min(wait, max(LONGEST_WAIT, limits.backoff.total_seconds()))
