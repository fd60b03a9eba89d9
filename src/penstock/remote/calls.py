"""What both connections ask and make of the answers, apart from how they wait."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx

from penstock.errors import BadQueryError
from penstock.model.arguments import ABOVE_ZERO, POSITION, SECONDS, TEXT, require
from penstock.model.schema import quoted
from penstock.remote import requests
from penstock.remote.answers import RowReader, results_of
from penstock.remote.following import Following
from penstock.remote.requests import Ask
from penstock.runtime.durable.result_row import Position
from penstock.runtime.statements.result import Result

MAX_ROWS = 1_000  # that wait in memory; what is more waits in the server


def script(text: str) -> list[Ask]:
    """Return what carries out a script, in the order in which to try it.

    Where a text only seemed to be one statement that gives rows the server refuses the first, and
    has done nothing.
    """
    require("ps.sql", text=(text, TEXT))
    plain = requests.statements(text, rows=False)
    if requests.may_give_rows(text):
        return [requests.statements(text, rows=True), plain]
    return [plain]


def is_other_way(error: Exception, left: int) -> bool:
    """Say whether a script is to be asked for in the next way."""
    return left > 0 and isinstance(error, BadQueryError) and error.place is None


def last(results: list[Result]) -> Result:
    """Return what the last statement gave."""
    return results[-1] if results else Result()


def push(stream: str, rows: object, key: str | None) -> tuple[Ask, int]:
    """Return what pushes rows, and how many they are."""
    require("ps.push", stream=(stream, TEXT))
    if key is not None:
        require("ps.push_once", key=(key, TEXT))
    return requests.push(stream, rows, key)


def accepted(response: httpx.Response) -> int:
    """Return how many rows the server has taken."""
    return int(response.json()["accepted"])


def end(stream: str) -> Ask:
    """Return what ends a stream."""
    require("ps.end", stream=(stream, TEXT))
    return requests.end(stream)


def punctuation(stream: str, condition: str) -> str:
    """Return the statement that promises that no more such tuples come."""
    require("ps.punctuate", stream=(stream, TEXT), condition=(condition, TEXT))
    return f"PUNCTUATE {quoted(stream)} WHERE {condition}"


def description(query: str, after: Position | None, max_rows: int) -> Ask:
    """Return what tells the columns of a query that is to be followed."""
    require(
        "ps.subscribe",
        query=(query, TEXT),
        after=(after, POSITION.or_none()),
        max_rows=(max_rows, ABOVE_ZERO),
    )
    ask = requests.statements(f"DESCRIBE {quoted(query)}", rows=True)
    return replace(ask, repeatable=True, source="")  # nobody wrote it: errors have no place in it


def following(query: str, after: Position | None, described: httpx.Response) -> Following:
    """Return what reads a query's events, by what DESCRIBE gave."""
    words: Mapping[str, str] = {}
    columns = last(results_of(described)).table
    if columns is not None and "type" in columns.column_names:
        words = dict(zip(columns["column"].to_pylist(), columns["type"].to_pylist(), strict=True))
    return Following(query, RowReader(words), after)


def check_timeout(timeout: object) -> None:
    """Raise where it is no number of seconds, and not None."""
    require("ps.wait", timeout=(timeout, SECONDS.or_none()))


def is_idle(response: httpx.Response) -> bool:
    """Say whether everything is delivered."""
    told: Any = response.json()
    return bool(told["idle"])
