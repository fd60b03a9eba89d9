"""A home whose files were damaged: what comes back is right, or told with a code."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random

import pyarrow.json as pj
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.cli.main import main
from penstock.client import Connection
from penstock.errors import BadOptionError, HomeError, PenstockError, SourceError
from penstock.runtime.durable.journal_sqlite import SqliteJournal
from penstock.runtime.loop.supervisor import Settings
from tests.e2e.support import (
    figures,
    finish,
    results,
    rows_of,
    stream_figures,
    until,
    write_json,
)
from tests.examples import examples

pytestmark = pytest.mark.spark

STREAM = "CREATE STREAM s (n INT) FROM push(sync => true)"


def flip(path: Path, place: int, by: int = 0x20) -> bytes:
    """Flip bits of a byte of a file, and return what was there before."""
    whole = path.read_bytes()
    place %= len(whole)
    path.write_bytes(whole[:place] + bytes([whole[place] ^ by]) + whole[place + 1 :])
    return whole


def test_a_damaged_push_log_holds_its_stream_and_keeps_what_is_there(
    opener: Callable[[], Connection], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with opener() as ps:
        ps.sql(f"{STREAM}; CREATE QUERY q AS SELECT n FROM s INTO files(path => '{out}')")
        for n in range(3):
            ps.push("s", [{"n": n}])
            until(ps, lambda n=n: results(ps, "q").num_rows == n + 1)
    parts = {path.name: path.read_bytes() for path in out.glob("part-*")}
    (log,) = (tmp_path / "home" / "streams").glob("*/*.log")
    for place in (-1, -300, -600, 20):
        whole = flip(log, place)
        damaged = log.read_bytes()
        with opener() as ps:
            until(ps, lambda: stream_figures(ps, "s")["state"] == "FAILED")
            assert "damaged" in stream_figures(ps, "s")["cause"]
            with pytest.raises(SourceError) as raised:
                ps.push("s", [{"n": 7}])
            assert raised.value.hint
        assert log.read_bytes() == damaged
        log.write_bytes(whole)
    log.rename(log.with_suffix(".away"))
    with opener() as ps:
        assert "missing" in stream_figures(ps, "s")["cause"]
    log.with_suffix(".away").rename(log)
    log.write_bytes(log.read_bytes() + b"begun")
    with opener() as ps:
        assert any("never finished" in told for told in ps.warnings)
        ps.push("s", [{"n": 3}])
        until(ps, lambda: len(list(out.glob("part-*"))) == len(parts) + 1)
    assert parts.items() <= {p.name: p.read_bytes() for p in out.glob("part-*")}.items()


SELDOM = Settings(checkpoint_seconds=1e9)


def test_a_lost_tail_of_the_journal_doubles_no_row(spark: SparkSession, tmp_path: Path) -> None:
    home, out = tmp_path / "home", tmp_path / "out"
    with penstock.connect(home, spark=spark, settings=SELDOM) as ps:
        ps.sql(f"{STREAM}; CREATE QUERY q AS SELECT n FROM s INTO files(path => '{out}')")
        for n in range(6):
            ps.push("s", [{"n": n}])
            until(ps, lambda n=n: results(ps, "q").num_rows == n + 1)
            if n == 2:
                copied(home / "journal.db", tmp_path / "old.db")
        shutil.copytree(home, tmp_path / "after")
        copied(home / "firings.db", tmp_path / "after" / "firings.db")
    for left in (tmp_path / "after").glob("journal.db*"):
        left.unlink()
    (tmp_path / "old.db").rename(tmp_path / "after" / "journal.db")
    with penstock.connect(tmp_path / "after", spark=spark) as ps:
        assert any("set aside" in told for told in ps.warnings)
        until(ps, lambda: results(ps, "q").num_rows == 6)
        assert sorted(results(ps, "q")["n"].to_pylist()) == list(range(6))
    rows = [n for part in out.glob("part-*") for n in pj.read_json(part)["n"].to_pylist()]
    assert sorted(rows) == list(range(6))
    aside = [n for part in out.rglob("_set_aside/1/*") for n in pj.read_json(part)["n"].to_pylist()]
    assert sorted(aside) == [3, 4, 5]


def test_another_home_s_parts_are_set_aside(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for home in ("one", "two"):
        with penstock.connect(tmp_path / home, spark=spark) as ps:
            ps.sql(f"{STREAM}; CREATE QUERY q AS SELECT n FROM s INTO files(path => '{out}')")
            assert bool(ps.warnings) == (home == "two")
            ps.push("s", [{"n": 1}])
            until(ps, lambda: results(ps, "q").num_rows == 1)
    assert len(list(out.glob("part-*"))) == 1


@pytest.mark.parametrize("name", ["catalog.db", "journal.db"])
@pytest.mark.parametrize("truncated", [False, True])
def test_a_home_without_its_catalog_or_journal_says_so(
    opener: Callable[[], Connection], tmp_path: Path, name: str, truncated: bool
) -> None:
    with opener() as ps:
        ps.sql(STREAM)
    whole = (tmp_path / "home" / name).read_bytes()
    if truncated:
        (tmp_path / "home" / name).write_bytes(b"")
    else:
        (tmp_path / "home" / name).unlink()
    for _ in range(2):
        with pytest.raises(HomeError) as raised:
            opener()
        assert "penstock check" in raised.value.hint
    (tmp_path / "home" / name).write_bytes(whole)
    with opener() as ps:
        assert stream_figures(ps, "s")["state"] == "OPEN"


def test_sinks_in_the_wrong_place_are_refused(ps: Connection, tmp_path: Path) -> None:
    write_json(tmp_path / "in" / "a.json", [{"n": 1}])
    read = "CREATE STREAM {} (n INT) FROM files(path => '{}', format => 'json')"
    ps.sql(f"{STREAM}; {read.format('f', tmp_path / 'in')}")
    query = "CREATE QUERY {} AS SELECT n FROM s INTO files(path => '{}')"
    for place in ("home", "home/state", "out/../home/spill", "in", "out/../in"):
        with pytest.raises(BadOptionError):
            ps.sql(query.format("q", tmp_path / place))
    assert rows_of(ps.sql("SHOW QUERIES").table) == []
    ps.sql(query.format("q", tmp_path / "out"))
    with pytest.raises(BadOptionError):
        ps.sql(read.format("g", tmp_path / "out"))
    assert len(rows_of(ps.sql("SHOW STREAMS").table)) == 2


WINDOWED = """
CREATE STREAM v (ts TIMESTAMP, n INT) TIMESTAMP BY ts FROM push();
CREATE QUERY w AS SELECT window_start, sum(n) AS total FROM v [RANGE 1 HOUR]
"""


def pushed(ps: Connection, first: int, last: int) -> None:
    """Push rows a minute apart, and wait until they are read."""
    for n in range(first, last):
        ps.push("v", [{"ts": f"2026-01-01T{n // 60:02}:{n % 60:02}:00Z", "n": n}])
    until(ps, lambda: figures(ps, "w")["rows_in"] == last)


def test_a_damaged_checkpoint_gives_way_to_the_one_before_it(
    opener: Callable[[], Connection], tmp_path: Path
) -> None:
    with opener() as ps:
        ps.sql(f"{WINDOWED} INTO files(path => '{tmp_path / 'out'}')")
        pushed(ps, 0, 50)
        with ps.system.quiescence.quiesced():
            pass  # a checkpoint of the same graph as the last one
        pushed(ps, 50, 130)
    for path in of_the_last_checkpoint_alone(tmp_path / "home"):
        flip(path, 60)
    with opener() as ps:
        assert any("checkpoint is damaged" in told for told in ps.warnings)
        pushed(ps, 130, 190)
        ps.end("v")
        finish(ps)
        totals = [row["total"] for row in results(ps, "w").to_pylist()]
    hours = [range(0, 60), range(60, 120), range(120, 180), range(180, 190)]
    assert totals == [sum(hour) for hour in hours]


def of_the_last_checkpoint_alone(home: Path) -> list[Path]:
    """Return the files of the last checkpoint that the one before it does not have."""
    journal = SqliteJournal(home / "journal.db")
    last, before = (set(journal.checkpoint(n).manifest["files"]) for n in journal.checkpoints())
    journal.close()
    assert last - before
    return [home / "state" / name for name in last - before]


def test_a_home_without_a_whole_checkpoint_says_so(
    opener: Callable[[], Connection], tmp_path: Path
) -> None:
    with opener() as ps:
        ps.sql(WINDOWED)
        pushed(ps, 0, 3)
        with ps.system.quiescence.quiesced():
            pass  # now both checkpoints have rows
    files = {path: path.read_bytes() for path in (tmp_path / "home" / "state").iterdir()}
    for path in files:
        flip(path, 20)
    with pytest.raises(HomeError) as raised:
        opener()
    assert "whole" in raised.value.message
    for path, whole in files.items():
        path.write_bytes(whole)
    with opener() as ps:
        assert figures(ps, "w")["rows_in"] == 3
        assert not ps.warnings


ALL = """
CREATE STREAM v (ts TIMESTAMP, n INT) TIMESTAMP BY ts FROM push() ARCHIVE FOR INTERVAL 10 DAYS;
CREATE TABLE t FROM files(path => '{given}', format => 'json');
CREATE QUERY w AS SELECT window_start, sum(n) AS total FROM v [RANGE 1 HOUR]
  INTO files(path => '{out}', format => 'json');
CREATE QUERY j AS SELECT v.n, t.name FROM v JOIN t ON v.n = t.n
"""
LEFT_ALONE = ("lock", "spark.log", "-shm", "-wal")
EXAMPLES = examples(75)


@contextmanager
def with_everything(place: Path, spark: SparkSession, rows: int) -> Iterator[None]:
    """Have a home open that has something of everything, checkpointed half-way."""
    write_json(place / "given" / "t.json", [{"n": n, "name": f"x{n}"} for n in range(rows)])
    with penstock.connect(place / "home", spark=spark) as ps:
        ps.sql(ALL.format(out=place / "out", given=place / "given"))
        pushed(ps, 0, 70)
        with ps.system.quiescence.quiesced():
            pass
        pushed(ps, 70, 130)
        yield


def test_whatever_byte_is_wrong_a_home_is_right_or_says_what_is_wrong(
    spark: SparkSession, tmp_path: Path
) -> None:
    home, out = tmp_path / "home", tmp_path / "out"
    with with_everything(tmp_path, spark, rows=200):
        pass
    shutil.copytree(home, tmp_path / "kept")
    shutil.copytree(out, tmp_path / "kept_out")
    draw, told = Random(7), 0
    files = sorted(
        path.relative_to(home)
        for path in home.rglob("*")
        if path.is_file() and path.stat().st_size and not path.name.endswith(LEFT_ALONE)
    )
    hurt = [files[at % len(files)] for at in range(EXAMPLES)]
    for name in hurt:
        for kept, place in (("kept", home), ("kept_out", out)):
            shutil.rmtree(place)
            shutil.copytree(tmp_path / kept, place)
        size = (home / name).stat().st_size
        if draw.random() < 0.3:
            os.truncate(home / name, draw.randrange(size))
        else:
            flip(home / name, draw.randrange(size), 1 << draw.randrange(8))
        told += is_told_or_right(home, spark, name)
    assert told > EXAMPLES // 3


def is_told_or_right(home: Path, spark: SparkSession, name: Path) -> bool:
    """Open the home and go on; return whether it said that something is wrong."""
    try:
        ps = penstock.connect(home, spark=spark)
    except PenstockError:
        return True
    with ps:
        states = [stream_figures(ps, "v")["cause"], figures(ps, "w")["cause"]]
        tables = [row["cause"] for row in rows_of(ps.sql("SHOW TABLES").table)]
        if any(states) or any(tables) or ps.warnings:
            return True
        pushed(ps, 130, 190)
        ps.end("v")
        finish(ps)
        with ps.subscribe("w") as found:
            left_out = found.left_out
    out = home.parent / "out"
    totals = [
        n for path in sorted(out.glob("part-*")) for n in pj.read_json(path)["total"].to_pylist()
    ]
    hours = [range(0, 60), range(60, 120), range(120, 180), range(180, 190)]
    assert totals == [sum(hour) for hour in hours], name
    return bool(left_out)


def test_what_is_damaged_is_checked_and_repaired(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, out = tmp_path / "home", tmp_path / "out"
    with with_everything(tmp_path, spark, rows=5):
        assert command("check", home) == 1  # somebody has it open
    capsys.readouterr()
    assert command("check", home) == 0, capsys.readouterr().out
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    for path in of_the_last_checkpoint_alone(home):
        flip(path, 60)
    archived = min(home.glob("archive/*/train-*"))
    os.truncate(archived, archived.stat().st_size // 2)
    (log,) = home.glob("streams/*/*.log")
    flip(log, 700)
    (out / "part-00000099.json").write_text('{"total": 1}\n')
    damaged = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert damaged.keys() == before.keys()
    capsys.readouterr()
    assert command("check", home) == 1
    told = capsys.readouterr().out
    for what in ("checkpoint", "archive/", "push log of v", "sink of w"):
        assert f"damaged  {what}" in told, told
    assert {p: p.read_bytes() for p in home.rglob("*") if p.is_file()} == damaged
    assert command("repair", home) == 1  # nobody answers
    assert {p: p.read_bytes() for p in home.rglob("*") if p.is_file()} == damaged
    assert command("repair", home, "--yes") == 0, capsys.readouterr().out
    assert command("check", home) == 0
    kept = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    lost = [p for p, body in damaged.items() if body not in kept and p.suffix != ".db"]
    assert lost in ([], [home / "sums.json"])
    with penstock.connect(home, spark=spark) as ps:
        pushed(ps, 130, 131)
        assert stream_figures(ps, "v")["cause"] == ""


@pytest.mark.parametrize("name", ["catalog.db", "journal.db", "firings.db"])
@pytest.mark.parametrize("gone", [False, True])
def test_a_lost_database_is_repaired_by_setting_the_rest_aside(
    opener: Callable[[], Connection], tmp_path: Path, name: str, gone: bool
) -> None:
    home, out = tmp_path / "home", tmp_path / "out"
    with opener() as ps:
        ps.sql(f"{STREAM}; CREATE QUERY q AS SELECT n FROM s INTO files(path => '{out}')")
        ps.push("s", [{"n": 1}])
        until(ps, lambda: results(ps, "q").num_rows == 1)
    if gone:
        (home / name).unlink()
    else:
        (home / name).write_bytes(b"no database at all" * 500)
    if not (gone and name == "firings.db"):
        assert command("check", home) == 1
    assert command("repair", home, "--yes") == 0
    with opener() as ps:
        if name == "catalog.db":
            assert rows_of(ps.sql("SHOW STREAMS").table) == []
        elif name == "journal.db":
            until(ps, lambda: results(ps, "q").num_rows == 1)
        else:
            assert results(ps, "q").num_rows == 1
    if name == "journal.db":
        assert len(list(out.glob("part-*"))) == 1
        assert len(list(out.rglob("part-*"))) == 2


def command(*words: str | Path) -> int:
    """Run the command line, as far as it goes in this process."""
    return main([str(word) for word in words])


def copied(path: Path, to: Path) -> None:
    """Copy a database as it is now, with what is only in its log."""
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)
