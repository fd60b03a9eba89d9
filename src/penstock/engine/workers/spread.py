"""What a Python worker of Spark does to detect events: a detector's step over some of the keys.

It is sent to the workers by value, with all of `penstock.events`, and needs nothing there but Arrow
and numpy. The state of the keys comes along and goes back.
"""

import importlib
import pickle
import pkgutil
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import cloudpickle

from penstock import errors, events
from penstock.events.detection.detector import Detections, Detector, KeptEvents
from penstock.events.occurrences.event_input import END, ORDER
from penstock.model import event_forms
from penstock.model import events as event_model
from penstock.model.events import Watch

PART, LOAD = "part", "load"
SCHEMA = f"{PART} BIGINT, {LOAD} BINARY"
MIXER = np.uint64(0x9E3779B97F4A7C15)  # odd and without a pattern: neighbours go different ways
Batches = Iterable[pa.RecordBatch]
Ints = npt.NDArray[np.int64]
Tables = Mapping[str, pa.Table]


def spreading(
    watches: Mapping[str, Watch], schemas: Mapping[str, pa.Schema], mark: int
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Return the work: loads of states and occurrences become loads of answers and states."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part, load in zip(batch[PART].to_pylist(), batch[LOAD].to_pylist(), strict=True):
                yield table_of_loads({part: _stepped(load)}).to_batches()[0]

    def _stepped(load: bytes) -> bytes:
        kept, tables = pickle.loads(load)  # noqa: S301  (we have written it)
        detector = Detector(watches, schemas, [KeptEvents(*each) for each in kept])
        answer = detector.step(tables, mark)
        after = detector.kept()
        state = (dict(after.facts), dict(after.tables))
        return pickle.dumps((dict(answer.detections), dict(answer.late), state))

    return work


def load_of(kept: Sequence[KeptEvents], tables: Tables) -> bytes:
    """Return a state and occurrences as a worker takes them."""
    states = [(dict(each.facts), dict(each.tables)) for each in kept]
    return pickle.dumps((states, dict(tables)))


def table_of_loads(loads: Mapping[int, bytes]) -> pa.Table:
    """Return loads with the number of their part."""
    parts = pa.array(list(loads), pa.int64())
    return pa.table([parts, pa.array(list(loads.values()), pa.binary())], names=[PART, LOAD])


def answers_of(table: pa.Table) -> tuple[Detections, list[KeptEvents]]:
    """Return what the workers found, laid together in order, and the states of the parts."""
    loads = dict(zip(table[PART].to_pylist(), table[LOAD].to_pylist(), strict=True))
    opened = [pickle.loads(loads[part]) for part in sorted(loads)]  # noqa: S301  (ours)
    found = _together([each[0] for each in opened])
    detections = {
        name: every.sort_by([(END, "ascending"), (ORDER, "ascending")])
        for name, every in found.items()
    }
    late = _together([each[1] for each in opened])
    return Detections(detections, late), [KeptEvents(*each[2]) for each in opened]


def part_of(columns: Sequence[pa.ChunkedArray], count: int) -> Ints:
    """Return the part of each key, the same wherever and whenever it is asked."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        mixed = (mixed ^ _codes(column)) * MIXER
    return ((mixed >> np.uint64(33)) % np.uint64(count)).astype(np.int64)


def _codes(column: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    """Return a number for each value, equal for equal ones."""
    if pa.types.is_integer(column.type) and not column.null_count:
        return np.asarray(column.to_numpy(), np.int64).view(np.uint64)
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    codes = [zlib.crc32(repr(value).encode()) for value in encoded.dictionary.to_pylist()]
    places = encoded.indices.fill_null(len(codes)).to_numpy(zero_copy_only=False)
    return np.array([*codes, 0], np.uint64)[np.asarray(places, np.int64)]


def _together(found: Sequence[Tables]) -> dict[str, pa.Table]:
    names = {name for each in found for name in each}
    return {name: pa.concat_tables([t[name] for t in found if name in t]) for name in names}


def _modules() -> Iterator[object]:
    yield from (sys.modules[__name__], errors, event_forms, event_model, events)
    for each in pkgutil.iter_modules(events.__path__, f"{events.__name__}."):
        yield importlib.import_module(each.name)


for module in _modules():
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
