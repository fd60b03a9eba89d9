"""Which tuples a join without windows may let go of: those whose keys the others have passed.

Input j has passed a key when none of its tuples to come can have it: with factor k_j that is every
key up to the greatest of its first n_j - k_j tuples (`Order.passed`, Theorem 3.2.1). A tuple of
input i meets nobody any more once all other inputs have passed its key. That needs no rates and no
lags, is exact for true factors however the inputs come, and keeps no more than (3.7) with C11:
of the tuples up to the other's settled position at most k_i are above it, those that are ahead are
the lag, and those that came since are r_i k_j / r_j.
"""

from collections.abc import Sequence


def let_go_until(passed: Sequence[int | None], place: int, *, decides: bool = False) -> int | None:
    """Return the greatest key that an input needs no more; None while all are needed.

    Up to there a tuple that had no partner will never have one. Where a join `decides` who had no
    partner, or gives a tuple once, partners stay until the tuples that they decide about may go:
    until all inputs have passed the key, its own as well.
    """
    asked = [each for at, each in enumerate(passed) if decides or at != place]
    known = [each for each in asked if each is not None]
    return min(known) if len(known) == len(asked) else None
