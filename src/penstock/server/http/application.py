"""The application: routes, the guard before them, and errors after them."""

import logging
from collections.abc import Sequence

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from penstock import __version__
from penstock.errors import BadRequestError, PenstockError
from penstock.server.access.audit import REQUEST
from penstock.server.http import health, idle, rows, sql, subscriptions
from penstock.server.http.guard import Guard
from penstock.server.http.problems import defect, response, told
from penstock.server.service import Service

LOG = logging.getLogger("penstock.server")
ABOUT = "Standing questions over streams, on Spark: statements, pushes and subscriptions."
EXPOSED = ["X-Request-Id", "Retry-After"]


def application(service: Service, routers: Sequence[APIRouter] = ()) -> ASGIApp:
    """Return the application over a service, with the routers of other rooms."""
    app = FastAPI(
        title="Penstock",
        version=__version__,
        description=ABOUT,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
    )
    app.state.service = service
    for router in (
        health.ROUTES,
        sql.ROUTES,
        idle.ROUTES,
        rows.ROUTES,
        subscriptions.ROUTES,
        *routers,
    ):
        app.include_router(router)
    app.add_exception_handler(PenstockError, _told)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(Exception, _defect)
    outside: ASGIApp = app
    if origins := service.configuration.http_origins:
        outside = CORSMiddleware(
            app,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],
            expose_headers=EXPOSED,
        )
    return Guard(outside, service)


def _told(_: Request, error: Exception) -> Response:
    assert isinstance(error, PenstockError)  # noqa: S101  (what it is registered for)
    return response(error)


def _not_valid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101  (as above)
    first = error.errors()[0]
    where = ".".join(str(each) for each in first["loc"])
    return response(BadRequestError(f"{where}: {first['msg']}"))


def _of_http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  (as above)
    hint = "GET /openapi.json tells which paths there are"
    problem = told(BadRequestError(str(error.detail), hint=hint))
    return JSONResponse({"error": problem}, error.status_code, error.headers)


def _defect(_: Request, error: Exception) -> Response:
    LOG.error("a defect: %s", type(error).__name__, exc_info=error)
    return JSONResponse({"error": defect(REQUEST.get())}, 500)
