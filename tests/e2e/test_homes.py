"""A home belongs to one process, and says so when its disk is full."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import PenstockError
from penstock.runtime.work import live_query
from tests.e2e.plain_stream import S, delivered, row
from tests.e2e.support import (
    figures,
    finish,
    until,
)

pytestmark = pytest.mark.spark


def test_a_home_that_another_process_holds_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from penstock.runtime.durable.home import Home;"
        f"home = Home(Path({str(tmp_path)!r})); print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(penstock.__file__).parents[1])},
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(PenstockError) as caught:
            penstock.connect(tmp_path, spark=spark)
        assert caught.value.code == "HOME_BUSY"
        assert str(holder.pid) in caught.value.message
    finally:
        holder.communicate("")
    with penstock.connect(tmp_path, spark=spark) as ps:
        assert ps.sql("SHOW QUERIES").table is not None


def test_a_home_that_is_open_in_this_process_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path, spark=spark):
        with pytest.raises(PenstockError) as caught:
            penstock.connect(tmp_path, spark=spark)
        assert caught.value.code == "HOME_BUSY"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root may mount a small disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    made = subprocess.run(mount, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"mounting is not permitted here: {made.stderr.strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_sink_without_room_holds_its_query_until_there_is_some(
    small_disk: Path, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_query, "RETRY_SECONDS", (0.01,))
    filler = small_disk / "filler"
    fill(filler)
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(
            S + f"CREATE QUERY q AS SELECT n FROM s INTO files(path => '{small_disk / 'out'}', "
            "format => 'csv', header => false); CREATE QUERY free AS SELECT n FROM s"
        )
        ps.push("s", [row(n % 60, n) for n in range(5000)])
        until(ps, lambda: figures(ps, "q")["state"] == "FAILED")
        assert "DISK_FULL" in figures(ps, "q")["cause"]
        until(ps, lambda: len(delivered(ps, "free")) == 5000)
        filler.unlink()
        ps.sql("RESUME QUERY q")
        ps.end("s")
        finish(ps)
        parts = sorted((small_disk / "out").glob("part-*"))
        assert [int(n) for part in parts for n in part.read_text().split()] == [*range(5000)]


def test_a_home_without_room_says_so_and_goes_on_when_there_is_some(
    small_disk: Path, spark: SparkSession, tmp_path: Path
) -> None:
    filler, home, out = small_disk / "filler", small_disk / "home", tmp_path / "out"
    script = S.replace("CREATE STREAM", "CREATE STREAM IF NOT EXISTS") + (
        "CREATE QUERY IF NOT EXISTS q AS SELECT n FROM s "
        f"INTO files(path => '{out}', format => 'csv', header => false)"
    )
    acknowledged: list[int] = []
    ps = penstock.connect(home, spark=spark)
    try:
        ps.script(script)
        ps.push("s", [row(1, 0)])
        acknowledged.append(0)
        until(ps, lambda: len(delivered(ps, "q")) == 1)
        fill(filler)
        with pytest.raises(PenstockError) as caught:
            push_until_it_fails(ps, acknowledged)
        assert caught.value.code == "DISK_FULL", str(caught.value)
    finally:
        filler.unlink(missing_ok=True)
        ps.close()
    with penstock.connect(home, spark=spark) as ps:
        ps.script(script)
        ps.end("s")
        finish(ps)
    parts = sorted(out.glob("part-*"))
    assert [int(n) for part in parts for n in part.read_text().split()] == acknowledged


def push_until_it_fails(ps: Connection, acknowledged: list[int]) -> None:
    while True:
        n = len(acknowledged)
        ps.push("s", [row(1, n, "k" * 100)])
        acknowledged.append(n)
        ps.wait(0)


def fill(path: Path) -> None:
    """Take all the room there is."""
    with path.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 512, 1):
            while True:
                try:
                    file.write(b"x" * size)
                except OSError:
                    break
