"""Every example runs, and says what the documents say it does."""

import json
import re
import runpy
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.cli.commands.demo import PAGE_HINT
from penstock.cli.demo.sampler import EVERY_SECONDS
from penstock.cli.main import main
from penstock.client import Connection, connect

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@pytest.fixture(autouse=True)
def _around(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run from the checkout, on the Spark of all tests."""
    monkeypatch.chdir(ROOT)

    def connected(home: str, *, begin: bool = True, **_: object) -> Connection:
        return connect(home, spark=spark, begin=begin)

    monkeypatch.setattr(penstock, "connect", connected, raising=False)
    monkeypatch.setattr("penstock.cli.stop_signals.StopSignals.listen", lambda _: None)


def test_every_example_has_its_test_here() -> None:
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == {
        "quickstart.sql",
        "smoke.sql",
        "traffic.sql",
        "python_push.py",
        "rules.sql",
    }


def test_the_quickstart_counts_a_thousand_cars(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = str(EXAMPLES / "quickstart.sql")
    command = ["run", script, "--until-idle", "--format", "json", "--home", str(tmp_path / "home")]
    assert main(command) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["query"] for line in lines} == {"by_lane"}
    assert len(lines) == 6  # two windows, three lanes
    assert sum(line["row"]["cars"] for line in lines) == 1000
    assert main(command) == 0  # again: everything is done
    again = capsys.readouterr()
    assert again.out == ""
    assert "no query runs" in again.err


def test_the_readme_shows_the_quickstart_as_it_is() -> None:
    readme = (ROOT / "README.md").read_text()
    shown = re.search(r"```sql\n-- examples/quickstart.sql\n(.*?)```", readme, re.DOTALL)
    assert shown is not None
    assert (EXAMPLES / "quickstart.sql").read_text().endswith(shown[1])


def test_traffic_finds_who_is_too_fast_and_which_minute_was_busy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = str(EXAMPLES / "traffic.sql")
    home = str(tmp_path / "home")
    assert main(["run", script, "--until-idle", "--format", "json", "--home", home]) == 0
    printed = capsys.readouterr()
    assert "did not fit" not in printed.err
    rows: dict[str, list[dict[str, object]]] = {}
    for line in map(json.loads, printed.out.splitlines()):
        rows.setdefault(line["query"], []).append(line["row"])
    data = [
        json.loads(line)
        for path in sorted((EXAMPLES / "data" / "traffic").iterdir())
        for line in path.read_text().splitlines()
    ]
    limits = {
        road["road"]: road["limit"]
        for road in map(json.loads, (EXAMPLES / "data" / "roads.json").read_text().splitlines())
    }
    fast = sorted(each["car_id"] for each in data if each["mph"] > limits[each["road"]])
    assert sorted(str(row["car_id"]) for row in rows["too_fast"]) == fast
    assert sum(int(str(row["vehicles"])) for row in rows["by_minute"]) == len(data)
    busy = [row for row in rows["by_minute"] if int(str(row["vehicles"])) > 10]
    assert busy
    assert [(row["window_start"], row["road"]) for row in rows["busy"]] == [
        (row["window_start"], row["road"]) for row in busy
    ]


def test_smoke_and_heat_pair_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = str(EXAMPLES / "smoke.sql")
    home = str(tmp_path / "home")
    assert main(["run", script, "--until-idle", "--format", "json", "--home", home]) == 0
    rows: dict[str, list[dict[str, object]]] = {}
    for line in map(json.loads, capsys.readouterr().out.splitlines()):
        rows.setdefault(line["query"], []).append(line["row"])
    hot = [n for n in range(240) if n % 2 == 0 and n % 60 > 40]
    smoke = [(10 * n, n % 4) for n in range(24) if n % 4]
    pairs, waiting = [], list(smoke)
    for second in hot:  # the oldest smoke of the last half minute that has met no heat
        waiting = [each for each in waiting if each[0] >= second - 30]
        if waiting and waiting[0][0] < second:
            pairs.append((waiting.pop(0)[1], 45 + second % 7))
    assert [(row["level"], row["temp"]) for row in rows["fires"]] == pairs
    assert rows["false_alarms"]
    assert rows["by_minute"]


def test_pushing_from_python_gives_rows_back(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "python_push.py"), run_name="__main__")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in lines if line[0] == "mean"] == [
        ["mean", "attic", "29.45"],
        ["mean", "cellar", "15.45"],
        ["mean", "attic", "30.45"],
        ["mean", "cellar", "16.45"],
    ]
    assert len([line for line in lines if line[0] == "hot"]) == 9


def test_the_rules_open_and_close_a_valve(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = str(EXAMPLES / "rules.sql")
    command = ["run", script, "--until-idle", "--format", "json", "--home", str(tmp_path / "home")]
    assert main(command) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    rows = [line["row"] for line in lines if line.get("query") == "valve_log"]
    first = sorted((row["ts"], row["what"]) for row in rows if row["tank"] == "north")
    assert first[0][1] == "open"
    assert first[-1][1] == "close"
    assert {row["tank"] for row in rows} == {"north", "south"}
    notes = [line["row"] for line in lines if line.get("query") == "noted"]
    assert len(notes) == len([row for row in rows if row["what"] == "open"])


STORY = (
    "The rush",
    r"^call_police +\| lasting_jam +\| ENABLED +\| +(\d+) +\| +([1-9]\d*)",
    r"called +place \w+ road",
)


@pytest.mark.timeout(900)
def test_the_demo_plays_and_tells_its_story(capsys: pytest.CaptureFixture[str]) -> None:
    for seconds in (10, 30, 90):  # the first that the machine can keep up with
        began = time.monotonic()
        assert main(["demo", "--seconds", str(seconds)]) == 0
        took = time.monotonic() - began
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        if all(re.search(each, printed.out, re.MULTILINE) for each in STORY):
            break
    assert printed.out.splitlines()[-1] == PAGE_HINT
    for name in ("hot_rooms", "power", "speeding", "flow", "jams", "alarms"):
        assert re.search(rf"^{name} +\| RUNNING", printed.out, re.MULTILINE), name
    for each in STORY:
        assert re.search(each, printed.out, re.MULTILINE), each
    fired = re.search(STORY[1], printed.out, re.MULTILINE)
    assert fired is not None
    assert int(fired[1]) >= int(fired[2])  # it may fire once more while figures are taken
    # Eight queries, each with a line now and then, and some lines before and after.
    assert len(printed.out.splitlines()) < 8 * took / EVERY_SECONDS + 80
