"""A journal that forgets with its process: the twin for tests."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from penstock.model.functions.time_outs import TimeOuts
from penstock.qos.shedding.worths import WorthCut
from penstock.runtime.durable.journal import (
    Keeps,
    Ranges,
    RecordedCheckpoint,
    RecordedRun,
    RecordedTrain,
    not_next,
    run_body,
    run_from,
    sealed,
    train_body,
    train_from,
    unsealed,
    with_time_outs,
)

_Key = tuple[str, str, int]  # what, of whom, number; 0 is where the last number stands


class MemoryJournal:
    """Keeps the journal's promises for as long as the process lives."""

    def __init__(self) -> None:
        self._cells: dict[_Key, Any] = {}
        self._undo: list[tuple[_Key, Any]] = []
        self._lock = threading.RLock()
        self._depth = 0

    def record_train(
        self, stream: str, number: int, boundary: Mapping[str, Any], arrived: float
    ) -> None:
        self._record("train", stream, number, train_body(boundary, arrived))

    def trains_after(self, stream: str, number: int) -> list[RecordedTrain]:
        return [train_from(stream, n, body) for n, body in self._after("train", stream, number)]

    def record_run(
        self, unit: str, number: int, inputs: Ranges, keeps: Keeps = (), cut: WorthCut | None = None
    ) -> None:
        self._record("run", unit, number, run_body(inputs, keeps, cut))

    def note_time_outs(self, unit: str, number: int, found: TimeOuts) -> None:
        with self._lock:
            body = self._get(("run", unit, number), None)
            if body is not None:
                self._set(("run", unit, number), with_time_outs(body, found))

    def runs_after(self, unit: str, number: int) -> list[RecordedRun]:
        return [run_from(unit, n, body) for n, body in self._after("run", unit, number)]

    def take_back_runs(self, unit: str, after: int) -> None:
        with self._lock:
            last = self._get(("run", unit, 0), 0)
            for number in range(after + 1, last + 1):
                self._set(("run", unit, number), None)
            if last > after:
                self._set(("run", unit, 0), after or None)

    def record_delivery(self, query: str, number: int, rows: int) -> None:
        with self._lock:
            self._record("delivery", query, number, None)
            self._set(("rows", query, 0), self.delivered_rows(query) + rows)

    def last_delivery(self, query: str) -> int:
        return int(self._get(("delivery", query, 0), 0))

    def delivered_rows(self, query: str) -> int:
        return int(self._get(("rows", query, 0), 0))

    def write_checkpoint(
        self,
        manifest: Mapping[str, Any],
        *,
        trains: Mapping[str, int],
        runs: Mapping[str, int],
        keep: int | None = None,
    ) -> int:
        body = sealed(manifest)
        with self._lock:
            known = self.checkpoints()
            number = 1 + max(known, default=0)
            for old in known:
                if old != keep:
                    self._set(("checkpoint", "", old), None)
            self._set(("checkpoint", "", number), body)
            for what, upto in (("train", trains), ("run", runs)):
                for name, end in upto.items():
                    self._drop(what, name, upto=end)
            return number

    def checkpoints(self) -> list[int]:
        with self._lock:
            return sorted((key[2] for key in self._cells if key[0] == "checkpoint"), reverse=True)

    def checkpoint(self, number: int) -> RecordedCheckpoint:
        return RecordedCheckpoint(number, unsealed(self._get(("checkpoint", "", number), "")))

    def forget_stream(self, stream: str) -> None:
        self._drop("train", stream)

    def forget_unit(self, unit: str) -> None:
        self._drop("run", unit)

    @contextmanager
    def together(self) -> Iterator[None]:
        with self._lock:
            self._depth += 1
            try:
                yield
            except BaseException:
                if self._depth == 1:
                    self._take_back()
                raise
            finally:
                self._depth -= 1
                if not self._depth:
                    self._undo.clear()

    def close(self) -> None:
        """Nothing is held."""

    def _record(self, what: str, name: str, number: int, body: str | None) -> None:
        with self._lock:
            last = self._get((what, name, 0), 0)
            if number != last + 1:
                raise not_next(what, name, number, last)
            self._set((what, name, 0), number)
            if body is not None:
                self._set((what, name, number), body)

    def _after(self, what: str, name: str, number: int) -> list[tuple[int, str]]:
        with self._lock:
            numbers = range(max(0, number) + 1, self._get((what, name, 0), 0) + 1)
            bodies = [(n, self._get((what, name, n), None)) for n in numbers]
        return [(n, body) for n, body in bodies if body is not None]

    def _drop(self, what: str, name: str, *, upto: int | None = None) -> None:
        with self._lock:
            for key in [key for key in self._cells if key[:2] == (what, name)]:
                if upto is None or 0 < key[2] <= upto:
                    self._set(key, None)

    def _get(self, key: _Key, default: Any) -> Any:
        with self._lock:
            found = self._cells.get(key)
        return default if found is None else found

    def _set(self, key: _Key, value: Any) -> None:
        """Put a value there, or nothing; remember what was there while a step is open."""
        if self._depth:
            self._undo.append((key, self._cells.get(key)))
        if value is None:
            self._cells.pop(key, None)
        else:
            self._cells[key] = value

    def _take_back(self) -> None:
        self._depth, depth = 0, self._depth
        for key, value in reversed(self._undo):
            self._set(key, value)
        self._depth = depth
