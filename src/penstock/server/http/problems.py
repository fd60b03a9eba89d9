"""Errors as HTTP tells them: a status, and `{"error": {code, message, hint, line, column}}`."""

from typing import Any

from starlette.responses import JSONResponse

from penstock.errors import PenstockError, TooManyError

DEFECT = "DEFECT"
BAD_REQUEST, NOT_FOUND = 400, 404
# By code; what is not named is in what the client wrote, and a 400.
STATUS = {
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "NOT_ALLOWED": 403,
    "UNKNOWN_NAME": NOT_FOUND,
    "NAME_TAKEN": 409,
    "IN_USE": 409,
    "CANCELLED": 409,
    "TOO_LARGE": 413,
    "BAD_ROW": 422,
    "KEY_REUSED": 422,
    "TOO_MANY": 429,
    "SOURCE_FAILED": 500,
    "SINK_FAILED": 500,
    "BAD_HOME": 500,
    "HOME_UNSEEN": 500,
    "NO_JOURNAL": 500,
    "SERVER": 500,
    "BAD_CONFIGURATION": 500,
    "NOT_READY": 503,
    "CLOSED": 503,
    "SPARK_DIED": 503,
    "LEASE_LOST": 503,
    "NO_SPARK": 503,
    "WORKERS_UNLIKE": 503,
    "TIMED_OUT": 504,
    "DISK_FULL": 507,
}
RETRY_SECONDS = 5  # where the server comes back by itself, or is started again
UNAVAILABLE = 503


def status_of(error: PenstockError) -> int:
    """Return the status of an error; what is wrong in a statement is never a missing page."""
    status = STATUS.get(error.code, BAD_REQUEST)
    return BAD_REQUEST if status == NOT_FOUND and error.place is not None else status


def told(error: PenstockError) -> dict[str, Any]:
    """Return an error as a client reads it."""
    place = error.place
    return {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "line": place.line if place else None,
        "column": place.column if place else None,
    }


def defect(request: str) -> dict[str, Any]:
    """Return what a client reads of a defect of ours: where its trace is, and nothing else."""
    return {
        "code": DEFECT,
        "message": "a defect of Penstock, not of this request",
        "hint": f"the server's log tells more of request {request}",
        "line": None,
        "column": None,
    }


def response(error: PenstockError) -> JSONResponse:
    """Return an error as a response."""
    status = status_of(error)
    headers: dict[str, str] = {}
    if isinstance(error, TooManyError):
        headers["Retry-After"] = str(max(1, round(error.seconds)))
    elif status == UNAVAILABLE:
        headers["Retry-After"] = str(RETRY_SECONDS)
    elif error.code == "UNAUTHENTICATED":
        headers["WWW-Authenticate"] = 'Bearer realm="penstock"'
    return JSONResponse({"error": told(error)}, status, headers)
