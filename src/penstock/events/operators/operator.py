"""What every operator of the detection graph has: parts in, occurrences out, something held."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from penstock.events.occurrences.bags import Bagging
from penstock.events.occurrences.batch import NONE, Batch, Ints, Mask, key_count
from penstock.events.occurrences.bounds import OccurrenceBounds

PATIENCE = 1024  # rows that may gather before a look at what can be let go


@dataclass(frozen=True, slots=True)
class StepTime:
    """When a step is: all before the watermark is known, ticks from `since` to `until` are due.

    `until` is the watermark, but at the end of time it stands behind the last occurrence: a
    periodic event that nothing closes would tick for ever.
    """

    watermark: int
    since: int
    until: int
    bagging: Bagging


@dataclass(frozen=True, slots=True)
class HeldOccurrences:
    """What an operator holds of each part, and how many occurrences its cap has cost."""

    parts: tuple[Batch, ...]
    dropped: int = 0
    trimmed: int = 0

    @property
    def count(self) -> int:
        """Return how many occurrences are held."""
        return sum(len(part) for part in self.parts)

    @property
    def is_due(self) -> bool:
        """Say whether enough has gathered to look at what can be let go."""
        return self.count > 2 * self.trimmed + PATIENCE


@dataclass(frozen=True, slots=True)
class ConstituentSlot:
    """One constituent: whose rows it refers to, or ticks if nobody's; as bags, if plural."""

    source: str
    plural: bool = False


Slots = tuple[ConstituentSlot, ...]


def listed(slots: Slots, plural: bool = True) -> Slots:
    """Return the constituents as bags, if so."""
    return tuple(replace(slot, plural=True) for slot in slots) if plural else slots


class EventOperator(Protocol):
    """A node of the detection graph; frozen, its state is passed in and handed back."""

    @property
    def slots(self) -> Slots:
        """Return the constituents of its occurrences."""
        ...

    @property
    def by_clock(self) -> bool:
        """Say whether something can occur while no part does."""
        ...

    def empty(self) -> HeldOccurrences:
        """Return what it holds before anything has occurred."""
        ...

    def step(
        self, held: HeldOccurrences, new: Sequence[Batch], moment: StepTime
    ) -> tuple[Batch, HeldOccurrences]:
        """Return what occurs before the watermark, in order, and what is held after it.

        `new` has a batch for each part, in order, with ends from the last watermark to this.
        """
        ...

    def trim(self, held: HeldOccurrences, watermark: int) -> HeldOccurrences:
        """Drop what can take part in nothing any more, and what is beyond the cap."""
        ...


def bagged(part: Batch, slots: Slots, at: Ints, offsets: Ints, bagging: Bagging) -> Ints:
    """Return the references of groups of a part's occurrences, as bags."""
    refs = part.refs[at]
    columns = [
        bagging.bag(refs[:, place], slot.plural, offsets) for place, slot in enumerate(slots)
    ]
    return np.stack(columns, axis=1) if columns else np.empty((len(offsets) - 1, 0), np.int64)


def referred(part: Batch, at: Ints) -> Ints:
    """Return the references of a part's occurrences; nothing where a place is below zero."""
    refs = np.full((len(at), part.refs.shape[1]), NONE)
    there = at >= 0
    refs[there] = part.refs[at[there]]
    return refs


def flat(groups: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Return the members of groups one after the other, and the offsets of the groups."""
    cuts = np.concatenate([[0], np.cumsum([len(group) for group in groups], dtype=np.int64)])
    return np.array([each for group in groups for each in group], np.int64), cuts


def offsets_of(owner: Ints, count: int) -> Ints:
    """Return the offsets of groups, given whose group each of some ordered members is in."""
    return np.searchsorted(owner, np.arange(count + 1))


def useful(batch: Batch, good: Mask, cap: int | None) -> Batch:
    """Return the good ones; under a cap, also those behind a good one: they stand in its way."""
    if good.all():
        return batch
    if cap is not None:
        at = np.arange(len(batch))
        begin = np.full(key_count(batch), len(batch))
        np.minimum.at(begin, batch.key[good], at[good])
        good = at >= begin[batch.key]
    return batch.take(good)


def unexpired(batch: Batch, bounds: OccurrenceBounds, watermark: int) -> Batch:
    """Return the occurrences, by key, that still fit into a span with one at the watermark."""
    if bounds.within is None or not len(batch):
        return batch
    return useful(batch, batch.start >= watermark - bounds.within, bounds.cap)


def capped(batch: Batch, cap: int | None) -> Batch:
    """Return the newest occurrences of each key; the batch stands by key and order."""
    if cap is None or len(batch) <= cap:
        return batch
    counts = np.bincount(batch.key, minlength=key_count(batch))
    behind = np.cumsum(counts)[batch.key]
    return batch.take(behind - np.arange(len(batch)) <= cap)


def replacing(batch: Batch, within: int | None) -> Batch:
    """Return each key's newest, and what may still fit into a span when newer ones do not."""
    last = np.append(batch.key[1:] != batch.key[:-1], True)[: len(batch)]
    if within is None or not len(batch):
        return batch.take(last)
    low, keys = int(batch.start.min()), key_count(batch)
    span = int(batch.start.max()) - low + 2
    if (keys + 1) * span >= 2**62:
        return batch
    code = ((keys - batch.key) * span + (batch.start - low))[::-1]
    above = np.concatenate([[-1], np.maximum.accumulate(code)[:-1]])
    return batch.take((code > above)[::-1])
