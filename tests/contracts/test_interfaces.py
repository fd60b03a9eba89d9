"""The laws of interface.py, over every interface."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.engine.connectors.sources import SOURCES, check
from penstock.engine.interfaces.interface import Interface
from penstock.engine.interfaces.pushed.push import Push
from penstock.errors import UnknownConnectorError
from penstock.model.definitions import Expression, Option, StreamDefinition
from tests.contracts.source_laws import (
    FRESH_SOURCE_LAWS,
    ROWS,
    SCHEMA,
    SOURCE_LAWS,
    Case,
    Drained,
    Source,
    connector,
    drained_of,
    offering_runs_no_spark_job,
    source_of,
)

pytestmark = pytest.mark.spark


def json_files(place: Path) -> str:
    place.mkdir(exist_ok=True)
    for at in range(3):
        rows = [{**row, "ts": str(row["ts"])} for row in ROWS[4 * at : 4 * at + 4]]
        (place / f"{at}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(place)


def parquet_files(place: Path) -> str:
    place.mkdir(exist_ok=True)
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("id", "string"), ("mph", "int32")])
    for at in range(3):
        table = pa.Table.from_pylist(ROWS[4 * at : 4 * at + 4], schema=schema)
        pq.write_table(table, place / f"{at}.parquet", row_group_size=3)
    return str(place)


def push_all(interface: Interface) -> None:
    assert isinstance(interface, Push)
    for at in range(0, 12, 3):
        interface.push(ROWS[at : at + 3])
    interface.end()


def json_source(name: str, **options: Option) -> Case:
    return Case(
        lambda home: connector(name, path=json_files(home / "in"), format="json", **options)
    )


def parquet_source(name: str, **options: Option) -> Case:
    return Case(
        lambda home: connector(name, path=parquet_files(home / "in"), format="parquet", **options)
    )


GENERATED: dict[str, Option] = {
    "rows": 12,
    "id": Expression("concat('car', n)"),
    "mph": Expression("30 + n"),
    "rows_per_train": 5,
}
CASES = {
    "files-by-file": json_source("files", bounded=True, files_per_train=1),
    "files-by-rows": json_source("files", bounded=True, rows_per_train=3),
    "files-in-place": parquet_source("files", bounded=True, files_per_train=2),
    "files-by-parquet-rows": parquet_source("files", bounded=True, rows_per_train=2),
    "generator": Case(lambda _: connector("generator", paced=False, **GENERATED)),
    "generator-paced": Case(
        lambda _: connector("generator", profile="poisson", rate=4, **GENERATED)
    ),
    "replay": json_source("replay", rows_per_train=5),
    "replay-at-once": parquet_source("replay", rows_per_train=5, speed=0),
    "push": Case(lambda _: connector("push", rows_per_train=3), push_all),
    "spark": json_source("spark", bounded=True, maxfilespertrigger=2),
}


# Their laws are kept in tests of their own, which start the servers that they read.
ELSEWHERE = {
    "delta": "engine/delta/test_delta.py",
    "http": "engine/http/test_sources.py",
    "kafka": "engine/kafka/test_source.py",
    "mqtt": "engine/mqtt/test_source.py",
    "postgres": "engine/postgres/test_changes.py",
    "sse": "engine/http/test_sources.py",
}


@pytest.fixture(scope="module", params=CASES)
def drained(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> Drained:
    source = source_of(CASES[request.param], tmp_path_factory.mktemp("drained"), spark)
    return drained_of(source, spark)


@pytest.mark.parametrize("law", SOURCE_LAWS, ids=lambda law: law.__name__)
def test_a_source_that_was_drained_keeps(law: Callable[[Drained], None], drained: Drained) -> None:
    if law is offering_runs_no_spark_job and drained.source.definition.source.name == "spark":
        pytest.skip("its inner query runs jobs of its own")
    law(drained)


@pytest.mark.parametrize("law", FRESH_SOURCE_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", CASES)
def test_a_fresh_source_keeps(
    law: Callable[[Source], None], name: str, tmp_path: Path, spark: SparkSession
) -> None:
    law(source_of(CASES[name], tmp_path, spark))


def test_every_interface_has_a_case() -> None:
    assert {case.split("-")[0] for case in CASES} | ELSEWHERE.keys() == set(SOURCES)
    assert all((Path(__file__).parents[1] / place).is_file() for place in ELSEWHERE.values())


def test_an_unknown_interface_is_named_with_its_near_miss() -> None:
    with pytest.raises(UnknownConnectorError) as raised:
        check(StreamDefinition("s", SCHEMA, connector("file")))
    assert raised.value.code == "UNKNOWN_CONNECTOR"
    assert "files" in raised.value.hint
