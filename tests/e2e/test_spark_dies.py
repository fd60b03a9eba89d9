"""Java dies under what runs on it, by kill -9: that is told as what it is, and nothing is lost."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.children import ROOT
from tests.e2e.dying_java import COUNT, PUSHED
from tests.e2e.support import PATIENCE, until

pytestmark = pytest.mark.spark

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, v INT) TIMESTAMP BY ts
  FROM generator(rows => 1000, rate => 200, rows_per_train => 20, v => n);
CREATE QUERY even AS SELECT v FROM s WHERE v % 2 = 0;
CREATE QUERY sums AS SELECT window_start, count(*) AS n FROM s [RANGE 1 SECOND];
"""


@pytest.mark.timeout(1800)
def test_who_uses_python_is_told_and_goes_on_in_the_same_process(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.e2e.dying_java", str(tmp_path / "home")],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = [line.split() for line in done.stdout.splitlines()]
    deaths = PUSHED // 50 + 1
    for what in ("wait", "subscription", "sql", "push"):
        assert [words[1] for words in said if words[0] == what] == ["SPARK_DIED"] * deaths, (
            done.stdout
        )
    for words in said:
        if words[0] in ("states", "rules"):
            assert "FAILED" not in words, done.stdout
    assert ["kept", "True"] in said  # the caller's own Spark is not ours to replace
    found = {words[0]: list(map(int, words[1:])) for words in said[-4:]}
    pushed = range(PUSHED)
    assert found["ids"] == [each for each in pushed if each % 2 == 0]
    assert found["low"] == [each for each in pushed if each < 1 + each / 2]
    assert found["fired"] == [each for each in pushed if each % 5 == 0]
    assert sum(found["sums"]) == COUNT


@pytest.mark.timeout(900)
def test_a_run_goes_on_with_another_java(tmp_path: Path) -> None:
    (tmp_path / "script.sql").write_text(SCRIPT)
    command = ["run", "script.sql", "--until-idle", "--format", "json", "--home", "home"]
    printed = tmp_path / "printed"
    with printed.open("wb") as out, (tmp_path / "told").open("wb") as told:
        process = subprocess.Popen(
            [sys.executable, "-m", "penstock", *command],
            cwd=tmp_path,
            env=ENVIRONMENT,
            stdout=out,
            stderr=told,
        )
    try:
        until(
            (tmp_path / "told").read_text,
            lambda: bool(printed.stat().st_size) or process.poll() is not None,
        )
        os.kill(java_of(process.pid), signal.SIGKILL)
        assert process.wait(PATIENCE) == 0, (tmp_path / "told").read_text()
    finally:
        process.kill()
        process.wait()
    assert "SPARK_DIED" in (tmp_path / "told").read_text()
    rows = [json.loads(line) for line in printed.read_text().splitlines()]
    even = Counter(row["row"]["v"] for row in rows if row["query"] == "even")
    assert set(even) == set(range(0, 1000, 2))
    sums = {row["row"]["window_start"]: row["row"]["n"] for row in rows if row["query"] == "sums"}
    assert sum(sums.values()) == 1000


def java_of(parent: int) -> int:
    """Return the Java that a process has started."""
    children = [
        int(child)
        for listed in Path(f"/proc/{parent}/task").glob("*/children")
        for child in listed.read_text().split()
    ]
    (found,) = [each for each in children if "java" in Path(f"/proc/{each}/comm").read_text()]
    return found
