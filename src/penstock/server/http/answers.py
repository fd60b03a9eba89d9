"""Results as bytes: JSON, lines of JSON, CSV and Arrow, as a request accepts."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from starlette.responses import StreamingResponse

from penstock.engine.sinks.csv_text import csv_text
from penstock.engine.sinks.json_lines import batches, joined, json_lines, json_objects
from penstock.engine.trains.types import sql_types
from penstock.engine.trains.vectors import shown
from penstock.errors import PenstockError, TooLargeError
from penstock.runtime.statements.result import Result
from penstock.server.http.problems import told

JSON, NDJSON, CSV = "application/json", "application/x-ndjson", "text/csv"
ARROW, EVENTS = "application/vnd.apache.arrow.stream", "text/event-stream"
AS_THEY_COME = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
PROGRESS_SECONDS = 1.0


def results_json(results: Sequence[Result]) -> bytes:
    """Return `{"results": [{"columns": […], "rows": [{…}]}]}`."""
    return b'{"results":[' + b",".join(map(_result_json, results)) + b"]}"


def arrow_bytes(table: pa.Table) -> bytes:
    """Return a table as a stream of Arrow's IPC."""
    out = pa.BufferOutputStream()
    table = shown(table)
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return bytes(out.getvalue())


# How the rows of one statement may be sent besides JSON.
TABLES: dict[str, Callable[[pa.Table], bytes]] = {
    CSV: csv_text,
    NDJSON: json_lines,
    ARROW: arrow_bytes,
}


def require_small(results: Sequence[Result], most: int) -> None:
    """Raise TooLargeError where the rows take more than so many bytes."""
    size = sum(result.table.nbytes for result in results if result.table is not None)
    if size > most:
        raise TooLargeError(
            f"the rows take {size:,} bytes, and an answer {most:,}",
            hint="ask for less, by LIMIT or WHERE; limits.answer of the configuration allows more",
        )


def accepted(header: str | None, offered: Sequence[str]) -> str | None:
    """Return the offered type that an Accept header likes best; the first, where it has no wish.

    None where it takes none of them.
    """
    if not header or not header.strip():
        return offered[0]
    best, found = 0.0, None
    for rank, name in enumerate(offered):
        weight = _weight(header, name) - rank * 1e-6
        if weight > best:
            best, found = weight, name
    return found


def _weight(header: str, name: str) -> float:
    """Return how much a header likes a type: by the most exact of its parts that fits."""
    exact, weight = -1, 0.0
    for part in header.split(","):
        kind, *parameters = (each.strip().lower() for each in part.split(";"))
        depth = {"*/*": 0, f"{name.partition('/')[0]}/*": 1, name: 2}.get(kind, -1)
        if depth > exact:
            exact, weight = depth, _quality(parameters)
    return weight


def _quality(parameters: Sequence[str]) -> float:
    for each in parameters:
        if each.startswith("q="):
            try:
                return min(1.0, max(0.0, float(each[2:])))
            except ValueError:
                return 0.0
    return 1.0


def _result_json(result: Result) -> bytes:
    if result.table is None:
        told = {"columns": [], "types": [], "rows": [], "message": result.message}
        return json.dumps(told, ensure_ascii=False).encode()
    table = shown(result.table)
    names = json.dumps(table.column_names, ensure_ascii=False)
    types = json.dumps(sql_types(table.schema))
    rows = b",".join(_rows_json(table))
    return f'{{"columns":{names},"types":{types},"rows":['.encode() + rows + b"]}"


def _rows_json(table: pa.Table) -> list[bytes]:
    """Return the rows of each batch as objects with commas between."""
    if not table.num_columns:
        return [b",".join([b"{}"] * table.num_rows)] if table.num_rows else []
    made = (bytes(joined(json_objects(batch, after=","))) for batch in batches(table))
    return [text[:-1] for text in made if text]


def event(name: str, data: str, number: int | None = None) -> bytes:
    """Return one Server-Sent Event; its data is JSON, in which no line ends."""
    identity = "" if number is None else f"id: {number}\n"
    return f"event: {name}\n{identity}data: {data}\n\n".encode()


def streamed(events: AsyncIterator[bytes]) -> StreamingResponse:
    """Return a response of Server-Sent Events, which proxies hand on as they come."""
    return StreamingResponse(events, media_type=EVENTS, headers=AS_THEY_COME)


async def progress(
    work: Awaitable[bytes], about: Mapping[str, Any], abandon: Callable[[], object]
) -> AsyncIterator[bytes]:
    """Yield an event every second until the work is done; abandon it where the client goes away."""
    began = time.monotonic()
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=PROGRESS_SECONDS))[0]:
            seconds = round(time.monotonic() - began, 1)
            yield event("progress", json.dumps({**about, "seconds": seconds}))
        try:
            yield event("result", task.result().decode())
        except PenstockError as error:
            yield event("error", json.dumps(told(error), ensure_ascii=False))
    finally:
        if not task.done():
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # nobody's
            abandon()
