"""Queries that come while a system runs: how long each takes, what it holds, whom it disturbs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks.many import penstock_sql, spark_sql
from benchmarks.many.kinds import query_set
from benchmarks.many.load import Load, write_load
from benchmarks.many.processes import Child
from benchmarks.many.queries import Query
from benchmarks.many.systems import GRACE_SECONDS

STEPS = (1, 10, 100, 1_000)


@dataclass(frozen=True, slots=True)
class Phases:
    """Seconds of warm-up, before and after `added` queries come, and at most for adding them.

    There are `pause` seconds before each of them.
    """

    warm: float
    before: float
    after: float
    budget: float
    added: int = 100
    pause: float = 0.0

    @property
    def patience(self) -> float:
        """Return how long an answer may take: what stands at first has to be created, too."""
        return self.warm + self.before + self.after + 3 * self.budget + GRACE_SECONDS


@dataclass(frozen=True, slots=True)
class LiveBench:
    """Asks Penstock's or Structured Streaming's process; Flink's statement set is fixed."""

    system: str
    child: Child
    directory: Path

    def create(self, kind: str, count: int, budget: float) -> dict[str, Any]:
        """Return how long each query's creation took, and the memory held at some of them."""
        load, home = self._load(), self.directory / uuid4().hex
        queries = query_set(kind, count)
        answer = self.child.ask(
            "create",
            2 * budget + GRACE_SECONDS,
            **self._texts(load),
            **{self._word: self._created(queries)},
            steps=[step for step in STEPS if step <= count],
            home=home,
            budget=budget,
        )
        return answer.said

    def add(self, kind: str, standing: int, added: int, phases: Phases) -> dict[str, Any]:
        """Return the probes' latencies before, while and after queries are added."""
        load, home = self._load(), self.directory / uuid4().hex
        queries = query_set(kind, standing + added)
        answer = self.child.ask(
            "add",
            phases.patience,
            **self._texts(load),
            **{self._word: self._created(queries[:standing])},
            added=self._created(queries[standing:]),
            phases=[phases.warm, phases.before, phases.after, phases.pause],
            home=home,
            budget=phases.budget,
        )
        return answer.said

    @property
    def _is_penstock(self) -> bool:
        return self.system == "Penstock"

    @property
    def _word(self) -> str:
        return "queries" if self._is_penstock else "selects"

    def _created(self, queries: Sequence[Query]) -> list[str]:
        write = penstock_sql.create if self._is_penstock else spark_sql.select
        return [write(query) for query in queries]

    def _texts(self, load: Load) -> dict[str, Any]:
        if self._is_penstock:
            return {"streams": penstock_sql.pushed_streams(load)}
        return {"path": load.path}

    def _load(self) -> Load:
        load = Load(self.directory / uuid4().hex, rows=2, batches=1, warm=1)
        write_load(load)
        return load
