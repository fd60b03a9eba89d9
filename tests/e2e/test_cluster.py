"""A Spark cluster gives what one machine gives, whoever of it dies."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from tests.e2e import cluster_script, scenario
from tests.e2e.children import Child
from tests.e2e.support import finish, until
from tests.examples import IS_WHOLE, NIGHTLY
from tests.servers.spark_cluster import Cluster, running_cluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster, pytest.mark.timeout(600)]

ROWS, ROWS_PER_TRAIN = 24_000, 12_000  # trains that executors read as Parquet
NEXMARK = (
    ("q0", "q1", "q2", "q3", "q4", "q5", "q7", "q8", "q14", "q17", "q22")
    if IS_WHOLE
    else cluster_script.FEW
)
RESTLESS = {
    "spark.speculation": "true",
    "spark.speculation.multiplier": "1.0",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.interval": "10ms",
    "spark.speculation.minTaskRuntime": "1ms",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.executorIdleTimeout": "1s",
    "spark.dynamicAllocation.minExecutors": "1",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster") / "daemons") as running:
        yield running


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    place = tmp_path_factory.mktemp("data")
    return place, cluster_script.prepare(
        place, ROWS, rows_per_train=ROWS_PER_TRAIN, nexmark=NEXMARK
    )


@pytest.fixture(scope="module")
def expected(data: tuple[Path, str], spark: SparkSession) -> Path:
    """Run the script on `local[2]`, and return where its files are."""
    place, script = data
    with penstock.connect(place / "local", spark=spark, writable=[place]) as ps:
        ps.script(script.format(out=place / "expected"))
        finish(ps)
    return place / "expected"


def child_of(cluster: Cluster, place: Path, script: str, **settings: str) -> Child:
    told = {
        "home": str(place / "home"),
        "master": cluster.address,
        "script": script.format(out=place / "out"),
    }
    return Child(place / "child", told, cluster.submitting(settings))


def has_written(place: Path) -> bool:
    return any((place / "out").glob("*/part-*"))


def assert_same(place: Path, expected: Path) -> None:
    scenario.same(scenario.contents(place / "out"), scenario.contents(expected))
    found = cluster_script.lines(place / "out", NEXMARK)
    for name, lines in cluster_script.lines(expected, NEXMARK).items():
        assert lines, f"{name} has nothing"
        assert found[name] == lines, f"{name} differs"


def test_a_killed_worker_changes_nothing_in_what_a_cluster_gives(
    cluster: Cluster, data: tuple[Path, str], expected: Path, tmp_path: Path
) -> None:
    child = child_of(cluster, tmp_path, data[1])
    try:
        assert child.wait_for("standing"), child.errors()
        until(child.errors, lambda: has_written(tmp_path))
        cluster.workers[-1].kill()
        assert child.wait_for("done"), child.errors()
        assert cluster.master.said("Registering app") > 0
        assert cluster.master.said("Launching executor") >= 2
    finally:
        child.kill()
        cluster.grow()
    assert_same(tmp_path, expected)


@NIGHTLY
def test_a_killed_driver_goes_on_where_it_was(
    cluster: Cluster, data: tuple[Path, str], expected: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        child = child_of(cluster, tmp_path, data[1])
        try:
            assert child.wait_for("standing"), child.errors()
            until(child.errors, lambda: has_written(tmp_path))
        finally:
            child.kill()
    child = child_of(cluster, tmp_path, data[1])
    try:
        assert child.wait_for("done"), child.errors()
    finally:
        child.kill()
    assert_same(tmp_path, expected)


@NIGHTLY
def test_speculation_and_dynamic_allocation_deliver_exactly_once(
    cluster: Cluster, data: tuple[Path, str], expected: Path, tmp_path: Path
) -> None:
    child = child_of(cluster, tmp_path, data[1], **RESTLESS)
    try:
        assert child.wait_for("done"), child.errors()
    finally:
        child.kill()
    assert_same(tmp_path, expected)


def test_workers_get_penstock_are_looked_at_and_are_followed(
    cluster: Cluster, tmp_path: Path
) -> None:
    enough = tmp_path / "enough"
    told = {"home": str(tmp_path / "home"), "master": cluster.address, "enough": str(enough)}
    around = cluster.submitting({})
    child = Child(tmp_path / "child", told, around, "tests.e2e.cluster_checks")
    try:
        assert child.wait_for("slots 2"), child.errors()
        assert [
            line for line in child.said if line.split()[0] in ("unseen", "unlike", "whole")
        ] == [
            "unseen HOME_UNSEEN",
            "unlike WORKERS_UNLIKE",
            "whole NOTHING",
        ]
        (origin,) = (line for line in child.said if line.startswith("origin"))
        assert ".zip/penstock/" in origin  # what the driver has shipped: they have none themselves
        cluster.workers[-1].kill()
        assert child.wait_for("slots 1"), child.errors()
        cluster.grow()
        assert child.wait_for("slots 2"), child.errors()
        enough.touch()
        assert child.wait_for("done"), child.errors()
    finally:
        child.kill()
