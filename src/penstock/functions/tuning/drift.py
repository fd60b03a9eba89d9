"""Drift: whether a stream is still what its profile was made for.

The median of the last observations is compared, so that outliers do not count as long as they are
fewer than half, and neither does noise within the factor, however long it lasts. A change that
stays is seen after half the observations.
"""

from collections.abc import Sequence
from statistics import median

LAST = 15
SIZE_FACTOR = 1.25  # sizes are mostly powers of two: any change of them is seen
RATE_FACTOR = 2.0  # rates are noisy, and a plan changes for much only


def drift(was: float, seen: Sequence[float], factor: float) -> float | None:
    """Return what a figure is now, where it is off by more than the factor; else None."""
    last = seen[-LAST:]
    if len(last) < LAST or was <= 0:
        return None
    now = median(last)
    is_off = now > was * factor or now < was / factor
    return now if is_off else None
