"""A Spark cluster gives what one machine gives, whoever of it dies."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import penstock
from tests.e2e import cluster_script, scenario
from tests.e2e.children import Child
from tests.e2e.support import PATIENCE, finish, until
from tests.examples import IS_WHOLE, NIGHTLY
from tests.servers.spark_cluster import SETTINGS, Cluster, running_cluster

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


@NIGHTLY
def test_an_application_that_spark_submit_starts_runs_where_that_says(
    cluster: Cluster, tmp_path: Path
) -> None:
    application = tmp_path / "application.py"
    application.write_text(
        "import penstock\n"
        f"with penstock.connect({str(tmp_path / 'home')!r}) as ps:\n"
        "    context = ps.system.sessions.large.sparkContext\n"
        "    told = (context.master, context.getConf().get('spark.ui.retainedJobs'))\n"
        "    print('told', *told, ps.sql('SELECT count(*) AS n FROM system.queries').table)\n"
    )
    spark_submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    settings = SETTINGS | {"spark.ui.retainedJobs": "7"}
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    done = subprocess.run(
        [str(spark_submit), "--master", cluster.address, *options, str(application)],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | cluster.surroundings | {"PYSPARK_DRIVER_PYTHON": sys.executable},
        timeout=PATIENCE,
    )
    assert f"told {cluster.address} 7" in done.stdout, done.stderr
