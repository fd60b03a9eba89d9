"""What a join without windows knows of the order of its inputs, and what follows from it."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.engine.states.state import KeptPart
from penstock.engine.trains.rows import in_memory
from penstock.model.key_order import KeyOrder
from penstock.model.schema import Column, Schema
from penstock.qos.joins.figures import InputFigures
from penstock.qos.monitor.order import LEAST_HISTORY, Order

Keys = npt.NDArray[np.int64]
# A factor that is measured may still grow: so many times as much is kept, and so much at first.
MARGIN, AT_FIRST = 2, 64
WHAT, INPUT = "what", "input"
RISES = Schema((Column("rises", "bigint"), Column("rose_at", "bigint")))
RECENT = Schema(
    (Column("recent", "bigint"), Column("counts", "bigint"), Column("last_at", "bigint"))
)
MOMENTS = 64  # runs over which rates are measured


@dataclass(slots=True)
class KeyOrders:
    """The order of each input, as `declared` and as seen, and when how many tuples had come."""

    declared: Sequence[KeyOrder]
    seen: list[Order] = field(init=False)
    moments: deque[tuple[float, tuple[int, ...]]] = field(init=False)

    def __post_init__(self) -> None:
        """Have seen nothing."""
        self.seen = [Order(history=max(LEAST_HISTORY, each.factor or 0)) for each in self.declared]
        self.moments = deque(maxlen=MOMENTS)

    def factor(self, place: int, seen: Order | None = None) -> int:
        """Return how far out of place the tuples of an input are taken to be at most."""
        declared = self.declared[place].factor
        if declared is not None:
            return declared
        return max(AT_FIRST, MARGIN * (seen or self.seen[place]).factor)

    def strays(self, place: int, keys: Keys) -> npt.NDArray[np.bool_]:
        """Return which of the keys that come now are further out of place than that."""
        found: npt.NDArray[np.bool_] = self.seen[place].out_of_place(keys) > self.factor(place)
        return found

    def with_keys(self, keys: Sequence[Keys]) -> list[Order]:
        """Return the orders with keys that come now; nothing has changed meanwhile."""
        return [each.add(some) for each, some in zip(self.seen, keys, strict=True)]

    def passed(self, place: int, seen: Order) -> int | None:
        """Return what all keys to come of an input are above, once this has been seen of it."""
        return seen.passed(self.factor(place, seen))

    def accept(self, seen: Sequence[Order], when: float) -> None:
        """Go on from these orders."""
        self.seen = list(seen)
        self.moments.append((when, tuple(each.tuples for each in seen)))

    def figures(self) -> tuple[InputFigures, ...]:
        """Return the figures that the memory model asks of each input."""
        rates = self._rates()
        places = range(len(self.declared))
        return tuple(
            InputFigures(
                self.factor(place),
                rates[place],
                self.declared[place].duplicates or max(1, self.seen[place].multiplicity),
                {at: self.seen[place].lag_to(self.seen[at]) for at in places if at != place},
            )
            for place in places
        )

    def _rates(self) -> list[float]:
        """Return tuples a second; before any time has passed, tuples."""
        measured = [0.0] * len(self.declared)
        if self.moments:
            (began, first), (ended, last) = self.moments[0], self.moments[-1]
            if len(self.moments) == 1 or ended <= began:
                began, first = ended - 1.0, (0,) * len(last)
            measured = [(b - a) / (ended - began) for a, b in zip(first, last, strict=True)]
        return [each.rate or rate for each, rate in zip(self.declared, measured, strict=True)]

    def kept(self) -> list[KeptPart]:
        """Return what was seen as rows for a checkpoint."""
        found = []
        for place, each in enumerate(self.seen):
            facts: dict[str, Any] = {INPUT: place, "tuples": each.tuples, "factor": each.factor}
            facts |= {"multiplicity": each.multiplicity}
            rises = pa.table({"rises": each.rises, "rose_at": each.rose_at})
            recent = {"recent": each.recent, "counts": each.counts, "last_at": each.last_at}
            found.append(KeptPart(in_memory(rises), facts | {WHAT: "rises"}))
            found.append(KeptPart(in_memory(pa.table(recent)), facts | {WHAT: "recent"}))
        return found

    def back(self, parts: Sequence[KeptPart]) -> Self:
        """Take what a checkpoint kept."""
        for part in parts:
            if part.facts[WHAT] not in ("rises", "recent"):
                continue
            place, schema = part.facts[INPUT], RISES if part.facts[WHAT] == "rises" else RECENT
            table = part.rows.to_table(schema)
            columns = {name: np.asarray(table[name].to_numpy()) for name in schema.names}
            facts = {name: part.facts[name] for name in ("tuples", "factor", "multiplicity")}
            self.seen[place] = replace(self.seen[place], **facts, **columns)
        return self
