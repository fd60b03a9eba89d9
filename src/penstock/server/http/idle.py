"""`GET /v1/idle`: wait until everything is delivered."""

import asyncio
import time
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from penstock.server.http.callers import Serving, caller_of
from penstock.server.http.documents import ERRORS

ROUTES = APIRouter(prefix="/v1", tags=["statements"])
MOST_SECONDS = 30.0
LOOK_SECONDS = 0.1


@ROUTES.get(
    "/idle",
    summary="Wait until everything is delivered",
    responses=ERRORS,
    dependencies=[Depends(caller_of)],
)
async def idle(
    service: Serving, seconds: Annotated[float, Query(ge=0, le=MOST_SECONDS)] = 0.0
) -> dict[str, bool]:
    """Answer as soon as every source has ended and everything is delivered, or after some seconds.

    Then `"idle"` is false; ask again. A source that never ends is never idle.
    """
    until = time.monotonic() + seconds
    while True:
        supervisor = service.connection.system.supervisor
        is_idle = await service.threads.joins.do(supervisor.wait_idle, 0.0)
        if supervisor.fatal is not None:
            raise supervisor.fatal
        if is_idle or time.monotonic() >= until:
            return {"idle": is_idle}
        await asyncio.sleep(LOOK_SECONDS)
