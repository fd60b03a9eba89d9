"""The page's routes: its document, its files, its examples, and the feed.

Everything that it shows is text from streams and users, so scripts and styles come from here
alone, and nothing inline runs but the styles that the editor makes under a nonce.
"""

import hashlib
import json
import mimetypes
import secrets
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

from penstock import __version__
from penstock.runtime.loop.control import BY_NEED
from penstock.schedule import STRATEGIES
from penstock.server.http.answers import streamed
from penstock.server.http.callers import Asking
from penstock.server.page.examples import EXAMPLES
from penstock.server.page.live.feed import Feed
from penstock.server.page.live.frames import frame_event
from penstock.server.service import Service

STATIC = Path(__file__).parent / "static"
FILES = {path.relative_to(STATIC).as_posix(): path for path in STATIC.rglob("*") if path.is_file()}
KINDS = {".js": "text/javascript", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}
# A file is asked for again each time, and sent again only where it is another: a page never
# mixes files of two versions.
AGAIN = "no-cache"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
LIVE_ABOUT = """Follow the figures of the whole system, as Server-Sent Events.

`hello` tells who asks; `all` has every table, and `change` what is other than in the event before,
once a second (less often where a sample takes long). Figures are sampled once for all who follow.
"""


def routes(service: Service) -> APIRouter:
    """Return the routes over a service; its feed ends when the service stops."""
    feed = Feed(service)
    service.at_stop(feed.stop)
    feed.start()
    router = APIRouter()

    @router.head("/", include_in_schema=False)
    @router.get("/", include_in_schema=False)
    async def page() -> Response:
        return document()

    @router.get("/page/examples.json", include_in_schema=False)
    async def examples() -> Response:
        text = json.dumps([each.as_json() for each in EXAMPLES], ensure_ascii=False)
        return Response(text, media_type="application/json", headers={"Cache-Control": AGAIN})

    @router.get("/page/{path:path}", include_in_schema=False)
    async def files(path: str, request: Request) -> Response:
        return file(path, request.headers.get("if-none-match", ""))

    @router.get("/v1/live", tags=["figures"], summary="Follow all figures", description=LIVE_ABOUT)
    async def live(caller: Asking) -> StreamingResponse:
        feed.require_room()
        hello = {
            "caller": {"name": caller.name, "role": caller.role.name.lower()},
            "version": __version__,
            "strategies": sorted([*STRATEGIES, BY_NEED]),
        }

        async def told() -> AsyncIterator[bytes]:
            yield frame_event("hello", hello)
            async for each in feed.listen():
                yield each

        return streamed(told())

    return router


def document() -> Response:
    """Return the document, with a nonce for the styles that scripts make."""
    nonce = secrets.token_urlsafe(16)
    text = _read("index.html")[0].decode().replace("{nonce}", nonce)
    headers = {"Content-Security-Policy": POLICY.format(nonce=nonce), "Cache-Control": "no-store"}
    return Response(text, media_type="text/html; charset=utf-8", headers=headers)


def file(path: str, known: str) -> Response:
    """Return one of the page's files, or that the browser has it already."""
    if path not in FILES or path == "index.html":
        raise HTTPException(404, "the page has no such file")
    body, tag = _read(path)
    headers = {"ETag": tag, "Cache-Control": AGAIN}
    if known == tag:
        return Response(status_code=304, headers=headers)
    suffix = FILES[path].suffix
    kind = KINDS.get(suffix) or mimetypes.guess_type(path)[0] or "application/octet-stream"
    return Response(body, media_type=kind, headers=headers)


@cache
def _read(path: str) -> tuple[bytes, str]:
    body = FILES[path].read_bytes()
    return body, f'"{hashlib.sha256(body).hexdigest()[:32]}"'
