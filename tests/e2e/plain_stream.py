"""A stream of rows with a time, a key and a number, and what a query over it gave."""

from typing import Any

from penstock.client import Connection
from tests.e2e.support import results

S = "CREATE STREAM s (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM push();"


def row(second: int, n: int | None = 1, k: str = "a") -> dict[str, Any]:
    return {"ts": f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z", "k": k, "n": n}


def delivered(ps: Connection, query: str) -> list[dict[str, Any]]:
    return list(results(ps, query).to_pylist())
