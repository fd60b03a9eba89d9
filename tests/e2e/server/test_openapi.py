"""The server against its own OpenAPI: what it tells holds, whatever is asked."""

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from pyspark.sql import SparkSession
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    response_schema_conformance,
    status_code_conformance,
)

from tests.e2e.server.served import Served, served, sql
from tests.examples import examples

pytestmark = pytest.mark.spark
CHECKS = (not_a_server_error, status_code_conformance, response_schema_conformance)
ENDLESS = ["/v1/queries/{name}/rows", "/v1/live"]  # they wait for what does not come


@pytest.fixture(scope="module")
def server(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("openapi") / "home", spark) as made:
        with made.client() as client:
            sql(client, "CREATE STREAM s (id BIGINT) FROM push()")
        yield made


def operations(server: Served) -> Iterator[schemathesis.schemas.APIOperation]:
    """Walk what OpenAPI tells that ends by itself."""
    with server.client() as client:
        document = client.get("/openapi.json").json()
    loaded = schemathesis.openapi.from_dict(document)
    loaded.config.update(base_url=server.url)
    for found in loaded.get_all_operations():
        operation = found.ok()
        if operation.path not in ENDLESS:
            yield operation


def test_every_answer_is_as_openapi_tells(server: Served) -> None:
    asked = 0
    for operation in operations(server):

        @given(case=operation.as_strategy())
        @settings(max_examples=examples(20), deadline=None, suppress_health_check=list(HealthCheck))
        def holds(case: schemathesis.Case) -> None:
            case.call_and_validate(checks=CHECKS, timeout=60)

        holds()
        asked += 1
    assert asked >= 7


def test_openapi_tells_of_every_path_with_an_example(server: Served) -> None:
    with server.client() as client:
        paths = client.get("/openapi.json").json()["paths"]
    told = {(method.upper(), path) for path, each in paths.items() for method in each}
    assert {
        ("GET", "/health/live"),
        ("GET", "/health/ready"),
        ("POST", "/v1/sql"),
        ("POST", "/v1/streams/{name}/rows"),
        ("GET", "/v1/queries/{name}/rows"),
    } <= told
    for path in ("/v1/sql", "/v1/streams/{name}/rows"):
        held = paths[path]["post"]["requestBody"]["content"]["application/json"]
        assert held["examples"]
