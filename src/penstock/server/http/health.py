"""Is it alive, and may it be asked."""

from fastapi import APIRouter
from starlette.responses import JSONResponse

from penstock.server.http.callers import Serving

ROUTES = APIRouter(prefix="/health", tags=["health"])


@ROUTES.head("/live", include_in_schema=False)  # as monitors ask that want no body
@ROUTES.get("/live", summary="Is the process alive")
async def live() -> dict[str, str]:
    """Answer as long as the process serves at all: also while it opens its home."""
    return {"status": "live"}


@ROUTES.head("/ready", include_in_schema=False)
@ROUTES.get(
    "/ready",
    summary="May it be asked",
    responses={503: {"description": "the home is being opened or closed, or Spark has died"}},
)
async def ready(service: Serving) -> JSONResponse:
    """Answer 200 once the home has recovered, and 503 before that and while it closes."""
    is_ready = service.is_ready
    return JSONResponse({"status": "ready" if is_ready else "not ready"}, 200 if is_ready else 503)
