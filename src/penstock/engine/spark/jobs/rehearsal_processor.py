"""Processors for rehearsals: whatever would call Python that users wrote raises instead."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.engine.spark.application.session import Sessions
from penstock.engine.spark.jobs.processor import DRIVER_ROWS, Leaf, Processor, Work


class UsersCodeError(Exception):
    """A SELECT calls a function in Python; made-up rows are not for users' code."""


class RehearsalProcessor(Processor):
    """A processor whose SELECTs call no aggregate of `users`, in names of lower case."""

    def __init__(
        self,
        sessions: Sessions,
        spill: Path,
        run_seconds: float,
        users: Collection[str],
        driver_rows: int = DRIVER_ROWS,
    ) -> None:
        """Share the sessions; `users` may grow."""
        super().__init__(sessions, spill, run_seconds, driver_rows)
        self._users = users

    def mapped(self, leaves: Mapping[str, Leaf], sql: str, work: Work) -> pa.Table:
        raise UsersCodeError

    def _by_spark(self, leaves: Mapping[str, Leaf], sql: str, **ways: Any) -> pa.Table:
        lower = sql.lower()
        if any(name in lower for name in self._users):
            raise UsersCodeError
        return super()._by_spark(leaves, sql, **ways)


def rehearsal_processors(
    sessions: Sessions,
    spill: Path,
    run_seconds: float,
    users: Collection[str],
    driver_rows: int = DRIVER_ROWS,
) -> tuple[RehearsalProcessor, RehearsalProcessor]:
    """Return one that runs few rows as few rows are run, and one that runs them as many are."""
    few = RehearsalProcessor(sessions, spill, run_seconds, users, driver_rows)
    as_many = replace(sessions, small=sessions.large)
    return few, RehearsalProcessor(as_many, spill, run_seconds, users, driver_rows)
