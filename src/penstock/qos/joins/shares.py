"""How joins without windows share memory (TIME-07): small needs whole, the rest in even parts."""

from collections.abc import Sequence


def fair_shares(memory: float, wanted: Sequence[float]) -> list[float]:
    """Return what each may take: no more than it wants, and nobody less than another but for that.

    That is max-min fair: what the small ones leave, the others have in even parts.
    """
    left, shares = memory, [0.0] * len(wanted)
    for done, place in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        shares[place] = min(wanted[place], max(0.0, left) / (len(wanted) - done))
        left -= shares[place]
    return shares
