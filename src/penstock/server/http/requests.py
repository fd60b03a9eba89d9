"""Requests as they come in: bodies within bounds, and clients that leave."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from fastapi import Request

from penstock.errors import BadRequestError, TooLargeError
from penstock.server.configuration import Configuration

T = TypeVar("T")


async def body_of(request: Request, configuration: Configuration) -> bytes:
    """Return the body; raise as soon as it is known to be too large, or takes too long."""
    try:
        async with asyncio.timeout(configuration.limits_upload):
            return await _body(request, configuration.limits_body)
    except TimeoutError:
        raise BadRequestError(
            f"the body did not come within {configuration.limits_upload:g} s",
            hint="send it in parts; limits.upload of the configuration allows more",
        ) from None


async def _body(request: Request, most: int) -> bytes:
    told = request.headers.get("content-length", "")
    if told.isdecimal() and int(told) > most:
        raise _too_large(most)
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise _too_large(most)
        parts.append(part)
    return b"".join(parts)


def kind_of(request: Request) -> str:
    """Return the body's type, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def read_json(body: bytes, **options: Any) -> Any:
    """Return what a body of JSON holds, or raise BadRequestError with its place."""
    try:
        return json.loads(body, **options)
    except json.JSONDecodeError as error:
        said = error.msg.removesuffix(" at")
        raise BadRequestError(
            f"the body is no JSON: {said} at line {error.lineno}, column {error.colno}"
        ) from None
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise BadRequestError(f"the body is no JSON: {error}") from None


async def unless_gone(request: Request, work: Awaitable[T], abandon: Callable[[], object]) -> T:
    """Return what the work gives; where the client leaves before, abandon it and wait for its end.

    Only once the body has been read: what comes then is that the client has gone.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            abandon()
        return await task
    finally:
        gone.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _too_large(most: int) -> TooLargeError:
    return TooLargeError(
        f"the body is larger than {most:,} bytes",
        hint="send it in parts; limits.body of the configuration allows more",
    )
