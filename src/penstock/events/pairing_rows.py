"""Which first goes with which last, in SEQ and NOT: row by row, for lasts that begin early.

A last that lasts may precede, by its start, another that ended before it; no order of places
tells its candidates then. Only such expressions come here; the answer is that of `pairing.py`.
"""

from dataclasses import dataclass, field

import numpy as np

from penstock.events.batch import Batch
from penstock.events.bounds import Bounds
from penstock.events.pairing import Pairs
from penstock.model.events import Mode


@dataclass
class _Pairing:
    mode: Mode
    ends: list[int]
    starts: list[int]
    used: list[int]
    gone: set[int] = field(default_factory=set)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    dropped: int = 0

    def meet(self, last: int, candidates: list[int]) -> None:
        """Pair one last with those of its candidates that the mode says."""
        match self.mode:
            case Mode.UNRESTRICTED:
                chosen = candidates
            case Mode.RECENT:
                chosen = candidates[-1:]
            case Mode.RECENT_UNIQUE:
                chosen = [each for each in candidates[-1:] if not self.used[each]]
                for each in chosen:
                    self.used[each] = 1
            case Mode.CHRONICLE:
                chosen = candidates[:1]
                self.gone.update(chosen)
            case Mode.CONTINUOUS | Mode.CUMULATIVE:
                chosen = candidates
                self.gone.update(chosen)
        self.pairs.extend((last, each) for each in chosen)


def pair_rows(mode: Mode, firsts: Batch, middles: Batch, lasts: Batch, bounds: Bounds) -> Pairs:
    """Return who goes with whom, as `pair_columns` does, whatever the lasts' starts."""
    pairing = _Pairing(mode, firsts.end.tolist(), firsts.start.tolist(), firsts.mark.tolist())
    of_key: dict[int, list[int]] = {}
    for place, key in enumerate(firsts.key.tolist()):
        of_key.setdefault(key, []).append(place)
    between: dict[int, list[tuple[int, int]]] = {}
    middle_columns = (middles.key, middles.end, bounds.since(middles))
    for key, end, since in zip(*(each.tolist() for each in middle_columns), strict=True):
        between.setdefault(key, []).append((end, since))
    last_columns = (lasts.key, lasts.end, bounds.since(lasts))
    for last, (key, end, since) in enumerate(
        zip(*(each.tolist() for each in last_columns), strict=True)
    ):
        mine = of_key.get(key, [])
        floor = max((start for stop, start in between.get(key, ()) if stop < since), default=None)
        held = [i for i in mine if pairing.ends[i] < end and i not in pairing.gone]
        if bounds.cap is not None and len(held) > bounds.cap:
            pairing.gone.update(held[: -bounds.cap])
            pairing.dropped += len(held) - bounds.cap
            held = held[-bounds.cap :]
        pairing.meet(
            last,
            [
                i
                for i in held
                if pairing.ends[i] < since
                and (floor is None or pairing.ends[i] >= floor)
                and (bounds.within is None or end - pairing.starts[i] <= bounds.within)
            ],
        )
    left = np.ones(len(firsts), np.bool_)
    left[list(pairing.gone)] = False
    found = np.array(pairing.pairs, np.int64).reshape(-1, 2)
    mark = np.array(pairing.used, np.int64)
    return Pairs(found[:, 0], found[:, 1], left, mark, pairing.dropped)
