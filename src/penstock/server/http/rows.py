"""Pushes: `POST /v1/streams/{name}/rows`."""

import hashlib
import json
import re
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response

from penstock.engine.trains.types import arrow_schema
from penstock.errors import BadRequestError
from penstock.server.access import Caller
from penstock.server.http.answers import EVENTS, JSON, accepted, progress, streamed
from penstock.server.http.bodies import rows_of, unpacked
from penstock.server.http.callers import Asking, Serving
from penstock.server.http.documents import ACCEPTED, ERRORS, ROWS_BODY
from penstock.server.http.requests import body_of, kind_of
from penstock.server.service import Service

ROUTES = APIRouter(prefix="/v1/streams", tags=["streams"])
KEY = re.compile(r"[\x21-\x7e]{1,255}")


@ROUTES.post(
    "/{name}/rows",
    summary="Push rows",
    openapi_extra={"requestBody": ROWS_BODY},
    responses={**ACCEPTED, **ERRORS},
)
async def push(
    name: str,
    request: Request,
    caller: Asking,
    service: Serving,
    idempotency_key: Annotated[str | None, Header()] = None,
) -> Response:
    """Take rows for a push stream, all or none.

    Once this answers, the rows survive the end of the process. A client that gets no answer repeats
    the request with the same `Idempotency-Key`: rows that came with it already are not taken again,
    and the answer says `"accepted": 0, "repeated": true`. With `Accept: text/event-stream` there is
    an event `progress` every second, and then `result` or `error`; the rows are taken as well where
    the client goes away meanwhile.
    """
    if idempotency_key is not None and not KEY.fullmatch(idempotency_key):
        raise BadRequestError(
            "the Idempotency-Key cannot be used", hint="it has 1 to 255 letters, digits and signs"
        )
    body = await body_of(request, service.configuration)
    encoding = request.headers.get("content-encoding", "").strip().lower()
    given = _Given(body, kind_of(request), encoding, idempotency_key)
    done = service.threads.pushes.do(given.push, service, caller, name)
    if accepted(request.headers.get("accept"), (JSON, EVENTS)) != EVENTS:
        return Response(await done, media_type=JSON)
    return streamed(progress(done, {"stream": name}, lambda: None))


@ROUTES.post("/{name}/end", summary="End a push stream for good", status_code=204, responses=ERRORS)
async def end(name: str, caller: Asking, service: Serving) -> Response:
    """Say that nothing follows: the stream's last windows close, and its queries end."""
    await service.threads.statements.do(service.end, caller, name)
    return Response(status_code=204)


class _Given:
    """A push as it came."""

    def __init__(self, body: bytes, kind: str, encoding: str, key: str | None) -> None:
        self._body, self._kind, self._encoding, self._key = body, kind, encoding, key

    def push(self, service: Service, caller: Caller, stream: str) -> bytes:
        """Return what is told of the rows that were accepted."""
        most = service.configuration.limits_body
        schema = arrow_schema(service.columns(caller, stream))
        body = unpacked(self._body, self._encoding, most)
        rows = rows_of(body, self._kind, schema, most)
        if self._key is None:
            return _told(service.push(caller, stream, rows), len(rows))
        fingerprint = hashlib.sha256(self._kind.encode() + b"\0" + body).digest()
        return _told(service.push(caller, stream, rows, self._key, fingerprint), len(rows))


def _told(taken: int, given: int) -> bytes:
    return json.dumps({"accepted": taken} | ({"repeated": True} if taken < given else {})).encode()
