"""Occurrences as columns of numbers, and how they are put in order.

What an occurrence carries stands elsewhere: `refs` has a column for each constituent, with the
number of its row (`parameters.py`), of its bag of rows (`bags.py`), or the time of a tick.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NONE = np.iinfo(np.int64).min  # a constituent that took no part
WIDEST = 2**62  # codes beyond this could overflow when two are compared by difference


@dataclass(frozen=True, slots=True)
class Batch:
    """Some occurrences of one event: key, interval, order at its end, constituents.

    `mark` is for the operator that holds the batch.
    """

    key: Ints
    start: Ints
    end: Ints
    seq: Ints
    refs: Ints
    mark: Ints

    def __len__(self) -> int:
        """Return how many occurrences there are."""
        return len(self.key)

    def take(self, at: Ints | Mask | slice) -> "Batch":
        """Return the occurrences at these places, or under this mask."""
        return Batch(
            self.key[at], self.start[at], self.end[at], self.seq[at], self.refs[at], self.mark[at]
        )

    def marked(self, mark: Ints) -> "Batch":
        """Return the same occurrences with other marks."""
        return replace(self, mark=mark)

    def spanning(self, within: int | None) -> "Batch":
        """Return the occurrences that last no longer than this."""
        if within is None:
            return self
        fits = self.end - self.start <= within
        return self if fits.all() else self.take(fits)


def occurrences(key: Ints, start: Ints, end: Ints, seq: Ints, refs: Ints) -> Batch:
    """Return a batch without marks."""
    return Batch(key, start, end, seq, refs, np.zeros(len(key), np.int64))


def nothing(places: int) -> Batch:
    """Return no occurrences of an event with so many constituents."""
    none = np.empty(0, np.int64)
    return Batch(none, none, none, none, np.empty((0, places), np.int64), none)


def joined(batches: Sequence[Batch]) -> Batch:
    """Return the occurrences of several batches, one after the other."""
    some = [batch for batch in batches if len(batch)]
    if len(some) <= 1:
        return some[0] if some else batches[0]
    return Batch(
        *(
            np.concatenate([getattr(batch, name) for batch in some])
            for name in ("key", "start", "end", "seq", "refs", "mark")
        )
    )


def in_order(batch: Batch) -> Batch:
    """Return the occurrences by end, then sequence; equal ones as they stood."""
    if is_sorted(batch.end, batch.seq):
        return batch
    return batch.take(np.lexsort((batch.seq, batch.end)))


def is_sorted(times: Ints, seq: Ints) -> bool:
    """Say whether times never fall, and neither does the sequence at one time."""
    steps = np.diff(times)
    if (steps > 0).all():
        return True
    return bool((steps >= 0).all() and (np.diff(seq)[steps == 0] >= 0).all())


@dataclass(frozen=True, slots=True)
class Coder:
    """Turns a key and a time into one number, so that order by both is order by it.

    Times beyond those that it was made for stay between the neighbouring keys.
    """

    low: int
    span: int
    known: Ints | None = None

    def __call__(self, key: Ints, time: Ints) -> Ints:
        """Return the codes of these keys and times."""
        if self.known is None:
            place = np.clip(time - self.low, 0, self.span - 1)
        else:
            place = np.searchsorted(self.known, time)
        return key * self.span + place


def coder(keys: int, *times: Ints) -> Coder:
    """Return a coder for keys below this number and these times."""
    some = [each for each in times if len(each)]
    low = min((int(each.min()) for each in some), default=0)
    span = max((int(each.max()) for each in some), default=0) - low + 2
    if (keys + 1) * span < WIDEST:
        return Coder(low, span)
    known = np.unique(np.concatenate(some))
    return Coder(0, len(known) + 1, known)


def key_count(*batches: Batch) -> int:
    """Return a number above every key."""
    return max((int(batch.key.max()) + 1 for batch in batches if len(batch)), default=1)


def with_keys_of(batch: Batch, others: Sequence[Batch]) -> Mask:
    """Say of each occurrence whether one of the others has its key."""
    known = np.zeros(key_count(batch, *others), np.bool_)
    for other in others:
        known[other.key] = True
    return known[batch.key]


def share_rows(some: Batch, others: Batch) -> bool:
    """Say whether some occurrence of one batch ends with the row that one of the other does."""
    mine, theirs = (
        batch.take(np.isin(batch.seq, seq))
        for batch, seq in ((some, others.seq), (others, some.seq))
    )
    ends = zip(theirs.end.tolist(), theirs.seq.tolist(), strict=True)
    return not set(ends).isdisjoint(zip(mine.end.tolist(), mine.seq.tolist(), strict=True))


def by_key(batch: Batch) -> Batch:
    """Return the occurrences by key, then end; a batch in order stays in order inside a key."""
    code = coder(key_count(batch), batch.end)(batch.key, batch.end)
    if (np.diff(code) >= 0).all():
        return batch
    return batch.take(np.argsort(code, kind="stable"))


def spread(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Return, for ranges of numbers, whose range each number is in, and the number."""
    counts = np.maximum(high - low, 0)
    owner = np.repeat(np.arange(len(low)), counts)
    begin = np.cumsum(counts) - counts
    return owner, np.arange(len(owner)) - begin[owner] + low[owner]
