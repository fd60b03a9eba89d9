"""Detecting: a detector in the driver, or, where much comes for many keys, one in each worker."""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.engine.states.state import Run
from penstock.engine.trains.rows import in_memory
from penstock.engine.workers.spread import (
    SCHEMA,
    answers_of,
    load_of,
    part_of,
    spreading,
    table_of_loads,
)
from penstock.errors import PenstockError
from penstock.events.detection.detector import Detections, Detector, KeptEvents, NodeFacts
from penstock.events.detection.snapshot import split
from penstock.model.events import Event, Periodic, Plus, Watch, parts_of, primitives

# States and occurrences go to the workers and back. On two cores that took 1.7 s for half a million
# occurrences that the driver was done with in 0.5 s: only what takes long by itself is tried there.
SPREAD_SECONDS = 3.0


@dataclass(slots=True)
class Detecting:
    """Watches and what is kept for them: in a detector, or by parts as workers gave it back.

    `here` and `spread` are the seconds that an occurrence took of late, in the driver and by way
    of the workers; where it is done changes no detection.
    """

    watches: Mapping[str, Watch]
    schemas: Mapping[str, pa.Schema]
    states: Sequence[KeptEvents] = ()
    here: float = 0.0
    spread: float | None = None
    _keys: dict[str, tuple[str, ...]] = field(init=False)
    _detector: Detector | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Find out by what occurrences could be spread."""
        self._keys = keys_of(self.watches.values())

    def step(self, run: Run, tables: Mapping[str, pa.Table], mark: int) -> Detections:
        """Take occurrences in and return the detections before the mark; all or nothing."""
        rows = sum(table.num_rows for table in tables.values())
        began = time.perf_counter()
        if self._keys and run.processor.slots > 1 and self.pays(rows):
            try:
                answer = self._spread(run, tables, mark)
            except PenstockError:
                self.spread = math.inf  # a type that does not go through workers, or no room there
            else:
                self.spread = (time.perf_counter() - began) / rows
                return answer
        answer = self.detector.step(tables, mark)
        self.here = (time.perf_counter() - began) / rows if rows else self.here
        return answer

    def pays(self, rows: int) -> bool:
        """Say whether so many occurrences are sooner done by the workers, as far as is known."""
        if not rows or self.spread is None:
            return self.here * rows > SPREAD_SECONDS
        return self.spread < self.here

    @property
    def detector(self) -> Detector:
        """Return all of it as one detector."""
        if self._detector is None:
            self._detector = Detector(self.watches, self.schemas, self.states)
            self.states = ()
        return self._detector

    @property
    def kept(self) -> KeptEvents:
        """Return the state for a checkpoint."""
        return self.detector.kept()

    @property
    def graph(self) -> tuple[NodeFacts, ...]:
        """Return the nodes of the detection graph."""
        return self.detector.graph()

    def _spread(self, run: Run, tables: Mapping[str, pa.Table], mark: int) -> Detections:
        """Detect on workers, each for its share of the keys."""
        count = run.processor.slots
        states = self._parts(count)
        shares: list[dict[str, pa.Table]] = [{} for _ in range(count)]
        for name, table in tables.items():
            place = part_of([table[column] for column in self._keys[name]], count)
            for number, share in enumerate(shares):
                share[name] = table.filter(pa.array(place == number))
        loads = {n: load_of([states[n]], shares[n]) for n in range(count)}
        view = run.view("loads")
        leaves = {view: ([in_memory(table_of_loads(loads))], None)}
        work = spreading(self.watches, self.schemas, mark)
        sql = f"SELECT /*+ REPARTITION({count}) */ * FROM {view}"
        answer, after = answers_of(run.processor.mapped(leaves, sql, (work, SCHEMA)))
        self.states, self._detector = after, None
        return answer

    def _parts(self, count: int) -> Sequence[KeptEvents]:
        """Return the state by parts: as the workers gave it back, or cut anew."""
        if self._detector is None and len(self.states) == count:
            return self.states
        return split(self.detector.kept(), count, lambda columns: part_of(columns, count))


def keys_of(watches: Iterable[Watch]) -> dict[str, tuple[str, ...]]:
    """Return the key columns of every primitive event, or nothing where keys do not part them.

    Ticks of different keys have no order that a part could know.
    """
    found: dict[str, set[tuple[str, ...]]] = {}
    for watch in watches:
        if _ticks(watch.event):
            return {}
        for leaf in primitives(watch.event):
            found.setdefault(leaf.name, set()).add(leaf.key)
    if any(len(keys) > 1 or () in keys for keys in found.values()):
        return {}
    return {name: next(iter(keys)) for name, keys in found.items()}


def _ticks(event: Event) -> bool:
    return isinstance(event, Periodic | Plus) or any(map(_ticks, parts_of(event)))
