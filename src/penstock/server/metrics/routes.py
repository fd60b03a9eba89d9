"""`GET /metrics`, for whom a token lets read."""

from typing import Any

from fastapi import APIRouter, Depends, Response

from penstock.errors import NotReadyError
from penstock.server.http.callers import caller_of
from penstock.server.http.documents import ERRORS
from penstock.server.metrics.metrics import Metrics, Watched
from penstock.server.service import Service

TEXT = "text/plain; version=0.0.4; charset=utf-8"  # which every Prometheus takes, and costs least
EXAMPLE = 'penstock_query_rows_total{query="fast"} 1042.0\n'
ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"description": "all metrics", "content": {TEXT: {"example": EXAMPLE}}}
}


def metrics_of(service: Service) -> Metrics:
    """Return the metrics of what a service serves."""

    def watched() -> Watched | None:
        try:
            system = service.connection.system
        except NotReadyError:
            return None
        return Watched(system.inspected, system.checkpoints)

    return Metrics(watched)


def routes(metrics: Metrics) -> APIRouter:
    """Return the route."""
    router = APIRouter(tags=["health"])

    @router.get(
        "/metrics",
        summary="Metrics for Prometheus",
        response_class=Response,
        responses={**ANSWER, **ERRORS},
        dependencies=[Depends(caller_of)],
    )
    def scrape() -> Response:
        """Return all metrics in Prometheus' text format.

        While the home is opened or closed there are those of the process, and `penstock_up` is 0.
        """
        return Response(metrics.text(), media_type=TEXT)

    return router
