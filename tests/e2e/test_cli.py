"""The command line as its users run it: processes of its own, signals, pipes."""

import io
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.cli.main import main
from penstock.client import connect
from penstock.clock import WallClock
from tests.e2e.support import PATIENCE, until

pytestmark = pytest.mark.spark

PENSTOCK = [sys.executable, "-m", "penstock"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(penstock.__file__).parents[1])}

# Takes ten minutes, so that there is something to interrupt; rows are printed and written to files.
PACED = """
CREATE STREAM IF NOT EXISTS s (ts TIMESTAMP, k INT, x INT) TIMESTAMP BY ts
  FROM generator(rate => 2, rows => 1200, rows_per_train => 20,
                 start => TIMESTAMP '2026-01-01 00:00:00', k => n % 3, x => n);
CREATE QUERY IF NOT EXISTS sums AS
  SELECT window_start, k, sum(x) AS x FROM s [RANGE 100 SECONDS] GROUP BY k
  INTO files(path => 'out', format => 'json');
CREATE QUERY IF NOT EXISTS some AS SELECT ts, x FROM s WHERE x % 20 = 1;
"""
ENDLESS = """
CREATE STREAM s (ts TIMESTAMP, x INT) TIMESTAMP BY ts FROM generator(rate => 2000, x => n);
CREATE QUERY q AS SELECT x FROM s;
"""


class Ahead(WallClock):
    """An hour ahead, so that all is due at once that was to come by now."""

    def now(self) -> float:
        return super().now() + 3600


@pytest.fixture
def shared(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let commands in this process use the Spark of all tests."""
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}

    def connected(home: str, *, master: str, begin: bool, **allow: Any) -> Any:
        assert master is None
        return connect(home, spark=spark, begin=begin, clock=Ahead(), **allow)

    monkeypatch.setattr(penstock, "connect", connected, raising=False)
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


def run(*words: str, where: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PENSTOCK, *words],
        cwd=where,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def rows(printed: str) -> Counter[tuple[str, str]]:
    """Return JSON lines as a bag."""
    lines = [json.loads(line) for line in printed.splitlines()]
    return Counter((line["query"], json.dumps(line["row"])) for line in lines)


def written(directory: Path) -> bytes:
    """Return what all files hold; how many rows go into one is a matter of timing."""
    return b"".join(path.read_bytes() for path in sorted(directory.iterdir()))


@pytest.mark.timeout(900)
@pytest.mark.usefixtures("shared")
def test_a_run_that_is_interrupted_and_run_again_is_as_if_it_never_had_been(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [tmp_path / "whole", tmp_path / "broken"]
    for place in places:
        place.mkdir()
        (place / "script.sql").write_text(PACED)
    at_once = PACED.replace("rate =>", "paced => false, rate =>")  # the same rows, sooner
    (places[0] / "script.sql").write_text(at_once)
    command = ("run", "script.sql", "--until-idle", "--format", "json", "--home", "home")
    monkeypatch.chdir(places[0])
    assert main(list(command)) == 0
    whole = rows(capsys.readouterr().out)
    assert sum(whole.values()) == 60

    broken = places[1]
    with (broken / "first").open("wb") as out, (broken / "told").open("wb") as told:
        first = subprocess.Popen(
            [*PENSTOCK, *command], cwd=broken, env=ENVIRONMENT, stdout=out, stderr=told
        )
        try:
            lock, told_first = broken / "home" / "lock", (broken / "told").read_text
            until(told_first, lambda: lock.exists() and bool(lock.read_text()))  # its owner
            monkeypatch.chdir(broken)
            busy = main(list(command)), capsys.readouterr().err
            until(told_first, lambda: (broken / "first").stat().st_size > 0)
            first.send_signal(signal.SIGINT)
            assert first.wait(PATIENCE) == 130
        finally:
            first.kill()
    assert busy[0] == 1
    assert busy[1].startswith("HOME_BUSY")
    assert "run the same command again to go on" in (broken / "told").read_text()

    assert main(list(command)) == 0
    second = rows(capsys.readouterr().out)
    printed = (broken / "first").read_text()
    assert 0 < len(printed.splitlines()) < 60  # else nothing was interrupted
    assert rows(printed) + second == whole
    assert written(broken / "out") == written(places[0] / "out")


@pytest.mark.timeout(900)
def test_a_reader_that_leaves_ends_the_run_quietly(tmp_path: Path) -> None:
    (tmp_path / "script.sql").write_text(ENDLESS)
    command = [*PENSTOCK, "run", "script.sql", "--format", "json"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert json.loads(running.stdout.readline()) == {"query": "q", "row": {"x": 0}}
        said = [running.stderr.readline() for _ in range(2)]  # before it is left
        running.stdout.close()
        assert running.wait(PATIENCE) == 141
        assert [*said, running.stderr.read()] == ["stream s created\n", "query q runs\n", ""]


@pytest.mark.parametrize(
    ("script", "code", "told"),
    [
        ("SHOW STREAMS;\nSHOW NOTHING;", 2, "SHOW NOTHING;\n     ^"),
        (None, 2, "BAD_OPTION: there is no script"),
    ],
)
def test_what_is_wrong_is_told_at_its_place_without_a_trace(
    script: str | None, code: int, told: str, tmp_path: Path
) -> None:
    if script is not None:
        (tmp_path / "script.sql").write_text(script)
    done = run("run", "script.sql", where=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / ".penstock").exists()


@pytest.mark.usefixtures("shared")
def test_a_script_that_fails_leaves_the_home_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, home = tmp_path / "script.sql", str(tmp_path / "home")
    path.write_text(ENDLESS + "CREATE QUERY p AS\n  SELECT y FROM s;")
    assert main(["run", str(path), "--home", home]) == 2
    assert "UNKNOWN_COLUMN" in capsys.readouterr().err
    path.write_text(ENDLESS)
    assert main(["run", str(path), "--home", home, "--until-idle"]) == 2
    told = capsys.readouterr()
    assert "stream s never ends" in told.err  # and not NAME_TAKEN, twice
    assert told.out == ""
    path.write_text(ENDLESS.replace("rate => 2000", "rows => 3, paced => false"))
    assert main(["run", str(path), "--home", home, "--until-idle", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "query,x\nq,0\nq,1\nq,2\n"


@pytest.mark.usefixtures("shared")
def test_a_run_that_lost_most_of_its_rows_does_not_end_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.csv").write_text("k,v\n" + "".join(f"{n},{n}.5\n" for n in range(98)) + "1,1\n")
    path, home = tmp_path / "script.sql", str(tmp_path / "home")
    script = f"""
        CREATE STREAM c (k INT, v INT) FROM files(
            path => '{tmp_path}/in.csv', format => 'csv', bounded => true{{more}});
        CREATE QUERY q AS SELECT v FROM c;
        CREATE RULE r ON q DO webhook(url => 'http://127.0.0.1:9/') WITH (retries => 0);
    """
    path.write_text(script.format(more=", max_rejects => 2"))
    assert main(["run", str(path), "--home", home, "--until-idle"]) == 2
    assert "BAD_OPTION" in capsys.readouterr().err
    path.write_text(script.format(more=""))
    (tmp_path / "home" / "hosts").write_text("127.0.0.1\n")
    assert main(["run", str(path), "--home", home, "--until-idle", "--format", "csv"]) == 1
    told = capsys.readouterr()
    assert told.out == "query,v\nq,1\n"
    assert "SELECT * FROM `c`.rejects" in told.err
    assert "SELECT * FROM `r`.dead" in told.err
    path.write_text(script.format(more=", max_rejects => 1").partition("CREATE RULE")[0])
    assert main(["run", str(path), "--home", f"{home}-2", "--until-idle", "--format", "csv"]) == 0
    assert "SELECT * FROM `c`.rejects" in capsys.readouterr().err


@pytest.mark.usefixtures("shared")
def test_explain_runs_nothing_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("script.sql").write_text(
        PACED + "SHOW STREAMS;\nCREATE QUERY more AS SELECT x FROM some WHERE x > 3;"
    )
    assert main(["explain", "script.sql"]) == 0
    plans = capsys.readouterr().out
    assert [line for line in plans.splitlines() if line.startswith("query ")] == [
        "query sums",
        "query some",
        "query more",
    ]
    assert "shared with" in plans
    assert [path.name for path in tmp_path.iterdir()] == ["script.sql"]
    assert main(["explain", "script.sql", "MORE"]) == 0
    assert capsys.readouterr().out.startswith("query more\n")
    assert main(["explain", "script.sql", "less"]) == 2
    capsys.readouterr()
    assert main(["explain", "script.sql", "--all"]) == 0
    assert capsys.readouterr().out.startswith("stream ")
    assert main(["explain", "script.sql", "--all", "--format", "json"]) == 0
    drawn = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in drawn["queries"]] == ["more", "some", "sums"]
    assert main(["explain", "script.sql", "some", "--all"]) == 2
    assert main(["explain", "script.sql", "--format", "dot"]) == 2


@pytest.mark.usefixtures("shared")
def test_the_shell_takes_statements_from_a_pipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = f"""{ENDLESS.replace("rate => 2000", "rows => 3, paced => false")}
        .wait 300s
        SELECT sum(x) AS total FROM q;
        SELECT nothing
          FROM q;
        SHOW TABLES;
        SELECT count(*) AS n FROM q"""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
    assert main(["sql", "--format", "json"]) == 2
    told = capsys.readouterr()
    lines = [json.loads(line)["row"] for line in told.out.splitlines()]
    assert lines == [{"total": 3}, {"n": 3}]
    assert "UNKNOWN_COLUMN" in told.err
    assert (tmp_path / ".penstock").is_dir()
