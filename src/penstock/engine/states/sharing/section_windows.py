"""How far windows of one size have closed, for every kind of them in a bundle."""

from collections.abc import Mapping

from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators.windows.hops import Hops
from penstock.plan.sharing.layout import Closing

Nexts = Mapping[Hops, int | None]  # the first window that has not closed, None while all count
Spread = tuple[int, int]  # the first and the last pane that there is


def closings(nexts: Nexts, watermark: int, spread: Spread | None) -> list[Closing]:
    """Return the windows to close; those without any tuple are passed over."""
    if spread is None or watermark == BEGIN_OF_TIME:
        return []
    found: list[Closing] = []
    for hops, number in nexts.items():
        first = hops.first_holding(*spread)
        first = first if number is None else max(first, number)
        last = _last_closing(hops, watermark, spread)
        if last is not None and first <= last:
            found.append(Closing(hops, first, last))
    return found


def moved(nexts: Nexts, watermark: int, spread: Spread | None) -> dict[Hops, int | None]:
    """Return the first windows that stay open, never earlier ones than before."""
    return {hops: _moved(hops, number, watermark, spread) for hops, number in nexts.items()}


def kept_from(nexts: Nexts) -> int | None:
    """Return where the first open window begins, or None while all count."""
    starts = [None if n is None else hops.start_of(n) for hops, n in nexts.items()]
    known = [start for start in starts if start is not None]
    return min(known) if known and len(known) == len(starts) else None


def _last_closing(hops: Hops, watermark: int, spread: Spread) -> int | None:
    holding = hops.last_holding(*spread)
    if watermark == END_OF_TIME or holding is None:
        return holding
    closed = hops.last_closed(watermark)
    return None if closed is None else min(closed, holding)


def _moved(hops: Hops, number: int | None, watermark: int, spread: Spread | None) -> int | None:
    if watermark == BEGIN_OF_TIME:
        return number
    if watermark == END_OF_TIME:
        reached = None if spread is None else hops.last_holding(*spread)
    else:
        reached = hops.last_closed(watermark)
    if reached is None:
        return number
    return reached + 1 if number is None else max(number, reached + 1)
