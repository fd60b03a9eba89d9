"""What a server answers: results, errors as the classes that they are, rows of queries."""

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import httpx
import pyarrow as pa

from penstock.errors import PenstockError, Place, ServerError, UnreachableError
from penstock.remote.sql_types import arrow_type, has_decimals, reader
from penstock.runtime.statements.result import Result

ARROW, JSON = "application/vnd.apache.arrow.stream", "application/json"


def error_of(told: Mapping[str, Any], source: str = "") -> PenstockError:
    """Return an error as it was raised in the server; `source` is the SQL that it is about."""
    code, line, column = str(told.get("code")), told.get("line"), told.get("column")
    place = Place(line, column, source) if source and line and column else None
    kind, hint = _classes().get(code), str(told.get("hint") or "")
    error = (kind or ServerError)(str(told.get("message", "")), hint=hint, place=place)
    if kind is None:
        error.code = code  # type: ignore[misc]  # a code that this version does not know yet
    return error


def problem_of(response: httpx.Response) -> Mapping[str, Any]:
    """Return the error that an answer tells, an empty one where it tells none as we do."""
    try:
        told = response.json()
    except ValueError:
        return {}
    found = told.get("error") if isinstance(told, dict) else None
    return found if isinstance(found, dict) else {}


def refused(response: httpx.Response, source: str = "") -> PenstockError:
    """Return the error of an answer that is not fine."""
    if problem := problem_of(response):
        return error_of(problem, source)
    return UnreachableError(
        f"{response.request.url} answers {response.status_code}, and not as Penstock does",
        hint="check the URL, and what stands between",
    )


def results_of(response: httpx.Response) -> list[Result]:
    """Return what each statement gave."""
    if response.headers.get("content-type", "").startswith(ARROW):
        with pa.ipc.open_stream(response.content) as found:
            return [Result("", found.read_all())]
    held = json.loads(response.content)["results"]
    kinds = [arrow_type(word) for each in held for word in each["types"]]
    if has_decimals(kinds):
        held = json.loads(response.content, parse_float=Decimal)["results"]
    return [_result(each) for each in held]


def _result(told: Mapping[str, Any]) -> Result:
    if not told["columns"]:
        return Result(told.get("message", ""))
    return Result("", table_of(told["columns"], told["types"], told["rows"]))


def table_of(
    names: Sequence[str], words: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> pa.Table:
    """Return rows of JSON as a table with columns of these types of SQL's."""
    arrays = []
    for name, word in zip(names, words, strict=True):
        kind = arrow_type(word)
        read = reader(kind)
        values = [row[name] for row in rows]
        arrays.append(pa.array(values if read is None else list(map(read, values)), kind))
    return pa.table(arrays, list(names))


def _classes() -> dict[str, type[PenstockError]]:
    """Return every class of errors by its code, that of the parent where it has no own."""
    return {each.code: each for each in _below(PenstockError) if "code" in vars(each)}


def _below(kind: type[PenstockError]) -> Iterator[type[PenstockError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


class RowReader:
    """Makes a query's rows of JSON, by the types of its columns."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        """Know the columns and their types in SQL."""
        self._kinds = {name: arrow_type(word) for name, word in columns.items()}
        found = ((name, reader(kind)) for name, kind in self._kinds.items())
        self._readers = {name: read for name, read in found if read is not None}
        self._parse_float = Decimal if has_decimals([*self._kinds.values()]) else None

    def values(self, text: str) -> dict[str, Any]:
        """Return the values of one row."""
        row: dict[str, Any] = json.loads(text, parse_float=self._parse_float)
        for name, read in self._readers.items():
            if name in row:
                row[name] = read(row[name])
        return row

    def table(self, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        """Return rows as a table; there is at least one."""
        names = list(rows[0])
        arrays = [pa.array([row[n] for row in rows], self._kinds.get(n)) for n in names]
        return pa.table(arrays, names)
