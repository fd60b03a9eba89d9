"""Statements: `POST /v1/sql`, what is being carried out, and cancelling that."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from fastapi import APIRouter, Request, Response

from penstock.errors import BadRequestError, UnknownNameError
from penstock.runtime.statements.result import Result
from penstock.server.access import Caller
from penstock.server.access.audit import REQUEST
from penstock.server.http.answers import (
    EVENTS,
    JSON,
    TABLES,
    accepted,
    progress,
    require_small,
    results_json,
    streamed,
)
from penstock.server.http.callers import Asking, Serving
from penstock.server.http.documents import ERRORS, RESULTS, SQL_BODY
from penstock.server.http.requests import body_of, kind_of, read_json, unless_gone
from penstock.server.service import Service

ROUTES = APIRouter(prefix="/v1", tags=["statements"])
FORM = "application/x-www-form-urlencoded"
OFFERED = (JSON, *TABLES, EVENTS)


@ROUTES.post(
    "/sql",
    summary="Carry out statements",
    openapi_extra={"requestBody": SQL_BODY},
    responses={**RESULTS, **ERRORS},
)
async def sql(request: Request, caller: Asking, service: Serving) -> Response:
    """Carry out one statement or a script, as a whole or not at all.

    By `Accept` the rows of a single statement come as `text/csv`, `application/x-ndjson` or
    `application/vnd.apache.arrow.stream`. With `text/event-stream` there is an event `progress`
    every second, and then `result` or `error`. A client that goes away cancels its SELECT.
    """
    text = _text(await body_of(request, service.configuration), kind_of(request))
    kind = accepted(request.headers.get("accept"), OFFERED)
    if kind is None:
        raise BadRequestError(
            f"no answer can be {request.headers['accept']}", hint=f"there is {', '.join(OFFERED)}"
        )
    work = _work(service, caller, text, kind)
    identity = REQUEST.get()

    def abandon() -> None:
        _abandon(service, caller, identity)

    done = service.carried_out(caller, text, work)
    if kind == EVENTS:
        return streamed(progress(done, {"statement": identity}, abandon))
    return Response(await unless_gone(request, done, abandon), media_type=kind)


@ROUTES.get("/statements", summary="Show what is being carried out", responses=ERRORS)
async def statements(caller: Asking, service: Serving) -> dict[str, list[dict[str, Any]]]:
    """Show the caller's own statements, or everybody's to an admin."""
    now = time.monotonic()
    running = [
        {
            "id": each.id,
            "caller": each.caller.name,
            "sql": each.text,
            "seconds": round(now - each.began, 3),
        }
        for each in service.running(caller)
    ]
    return {"statements": running}


@ROUTES.delete(
    "/statements/{statement}", summary="Cancel a statement", status_code=204, responses=ERRORS
)
async def cancel(statement: str, caller: Asking, service: Serving) -> Response:
    """Cancel a statement by the id of its request (`X-Request-Id`).

    A SELECT, and what waits for its turn, ends at once with the error CANCELLED; a change that has
    begun is finished.
    """
    service.cancel(caller, statement)
    return Response(status_code=204)


def _text(body: bytes, kind: str) -> str:
    """Return the SQL of a body: `{"sql": "…"}`; `curl -d` calls that a form.

    Lines may end within the text, as somebody types them into a shell; strictly that is no JSON.
    """
    if kind not in (JSON, FORM, ""):
        raise BadRequestError(
            f"the body is {kind or 'of no type'}", hint=f"send Content-Type: {JSON}"
        )
    held = read_json(body, strict=False)
    text = held.get("sql") if isinstance(held, dict) else None
    if not isinstance(text, str):
        raise BadRequestError("the body has no SQL", hint='send {"sql": "SELECT 1"}')
    return text


def _work(service: Service, caller: Caller, text: str, kind: str) -> Callable[[], bytes]:
    """Return what carries the statements out and makes bytes of what they give."""
    most = service.configuration.limits_answer

    def rows() -> bytes:
        table = service.select(caller, text)
        require_small([Result(table=table)], most)
        return TABLES[kind](table)

    def results() -> bytes:
        given = service.script(caller, text)
        require_small(given, most)
        return results_json(given)

    return rows if kind in TABLES else results


def _abandon(service: Service, caller: Caller, identity: str) -> None:
    """Cancel a statement whose client has gone, unless it is over."""
    with suppress(UnknownNameError):
        service.cancel(caller, identity)
