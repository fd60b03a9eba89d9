"""What reaches outside is closed until the operator opens it by name."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import NotAllowedError, PenstockError, SqlError
from tests.e2e.support import figures, until

pytestmark = pytest.mark.spark

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM push();"
REFLECT = "reflect('java.lang.System', 'getProperty', 'user.home')"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT {REFLECT} AS x",
        f"SELECT system.builtin.{REFLECT} AS x",
        f"SELECT `builtin`.{REFLECT} AS x",
        f"CREATE QUERY q AS SELECT {REFLECT} AS x FROM s",
        f"CREATE QUERY q AS SELECT n FROM s WHERE {REFLECT} = k",
        f"CREATE EVENT e AS SELECT n MASK {REFLECT} = k FROM s",
        f"CREATE RULE r ON s WHEN {REFLECT} = k DO INSERT INTO s SELECT *",
        f"PUNCTUATE s WHERE k = {REFLECT}",
        f"CREATE STREAM g (x STRING) FROM generator(rows => 1, x => {REFLECT})",
        "SELECT xpath_string('<!DOCTYPE a SYSTEM \"http://127.0.0.1:9/x\"><a/>', 'a') AS x",
        "SELECT * FROM python_worker_logs()",
    ],
)
def test_functions_that_reach_outside_are_closed(ps: Connection, text: str) -> None:
    ps.sql(STREAM)
    with pytest.raises(NotAllowedError) as caught:
        ps.sql(text)
    assert "allow_functions" in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM text.`/etc/hostname`",
        "SELECT * FROM `text`.`/etc/hostname` AS x",
        "WITH `text./etc/hostname` AS (SELECT 1) SELECT * FROM text.`/etc/hostname`",
        "SELECT TRANSFORM(1) USING 'cat' AS (x)",
        "SELECT MAP 1 USING 'cat' AS (x)",
        "SELECT * FROM s WHERE n IN (SELECT 1 FROM csv.`/etc/hostname`)",
    ],
)
def test_no_select_reads_a_file_or_starts_a_program(ps: Connection, text: str) -> None:
    ps.sql(STREAM)
    with pytest.raises(PenstockError):
        ps.sql(text)


@pytest.mark.parametrize(
    "condition", ["k = 'x'; DROP STREAM s", "k = 'x';", "k = 'x' -- all", "k = /* or */ 'x'", ""]
)
def test_a_condition_from_python_is_one_condition(ps: Connection, condition: str) -> None:
    ps.sql(STREAM)
    with pytest.raises(SqlError):
        ps.punctuate("s", condition)
    ps.punctuate("s", "k = 'x;--/*'")
    assert ps.sql("SHOW STREAMS").table is not None


def test_statements_write_files_where_they_may_and_over_none_but_their_own(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there, out = (tmp_path / name for name in ("here", "there", "out"))
    for each in (here, there, out):
        each.mkdir()
    (here / "link").symlink_to(there)
    (here / "mine.txt").write_text("not yours")
    monkeypatch.chdir(here)
    home = here / "home"

    def write(ps: Connection, name: object) -> None:
        ps.sql(f"EXPLAIN SCHEDULE INTO '{name}'")

    with penstock.connect(home, spark=spark, writable=[out]) as ps:
        for name in (there / "x.txt", "../x.txt", "link/x.txt", "home/x.txt", "mine.txt"):
            with pytest.raises(NotAllowedError):
                write(ps, name)
        for name in ("x.txt", "x.txt", out / "x.txt"):
            write(ps, name)
    with penstock.connect(home, spark=spark) as ps:
        write(ps, "x.txt")
        with pytest.raises(NotAllowedError):
            write(ps, out / "x.txt")
    assert (here / "mine.txt").read_text() == "not yours"
    assert list(there.iterdir()) == []


def test_sinks_sources_and_tables_keep_to_the_same_directories(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for each in (here, there / "in"):
        each.mkdir(parents=True)
        (each / "rows.json").write_text('{"n": 1}\n')
    monkeypatch.chdir(here)
    sink = f"CREATE QUERY q AS SELECT n FROM p INTO files(path => '{there}/out')"
    readers = [
        f"CREATE STREAM x (n INT) FROM files(path => '{there}/in/*.json', format => 'json')",
        f"CREATE STREAM x (ts TIMESTAMP) TIMESTAMP BY ts FROM replay(path => '{there}/in', "
        "format => 'json')",
        f"CREATE STREAM x (n INT) FROM spark(path => '{there}/in', format => 'json')",
        f"CREATE TABLE x FROM files(path => '{there}/in/rows.json', format => 'json')",
    ]
    with penstock.connect("home", spark=spark, readable=["."]) as ps:
        ps.sql("CREATE STREAM p (n INT) FROM push()")
        ps.sql("CREATE TABLE t FROM files(path => 'rows.json', format => 'json')")
        for text in (sink, *readers):
            with pytest.raises(NotAllowedError):
                ps.sql(text)
        (here / "home/writable").write_text(f"{there}\n")  # looked at each time
        for text in (sink, *readers):
            ps.sql(text)
            ps.sql("DROP STREAM IF EXISTS x" if "STREAM" in text else "DROP TABLE IF EXISTS x")
        assert not list(there.glob("out/*"))


def test_a_sink_that_the_operator_closes_again_holds_its_query(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, out = tmp_path / "here", tmp_path / "out"
    here.mkdir()
    monkeypatch.chdir(here)

    def rows() -> list[str]:
        return [each.read_text() for each in sorted(out.glob("part-*"))]

    with penstock.connect("home", spark=spark, writable=[out]) as ps:
        ps.sql("CREATE STREAM p (n INT) FROM push()")
        ps.sql(f"CREATE QUERY q AS SELECT n FROM p INTO files(path => '{out}')")
        ps.push("p", {"n": 1})
        until(ps, lambda: len(rows()) == 1)
    with penstock.connect("home", spark=spark) as ps:
        ps.push("p", {"n": 2})
        assert figures(ps, "q")["state"] == "FAILED"
        assert "NOT_ALLOWED" in figures(ps, "q")["cause"]
        with pytest.raises(NotAllowedError):
            ps.sql("RESUME QUERY q")
    with penstock.connect("home", spark=spark, writable=[out]) as ps:
        ps.sql("RESUME QUERY q")
        until(ps, lambda: len(rows()) == 2)
    assert rows() == ['{"n":1}\n', '{"n":2}\n']


def test_formats_are_opened_by_name(ps: Connection) -> None:
    text = "CREATE STREAM x (value STRING) FROM spark(format => 'socket', host => 'h', port => 1)"
    with pytest.raises(NotAllowedError) as caught:
        ps.sql(text)
    assert "formats=['socket']" in caught.value.hint
    (ps.system.home.path / "formats").write_text("socket\n")
    with pytest.raises(PenstockError) as caught_later:
        ps.sql(text.replace("port => 1", "port => 'none'"))
    assert not isinstance(caught_later.value, NotAllowedError)


@pytest.mark.parametrize("text", ["${env:HOME}", "${system:user.dir}", "${spark.master}", "${x}"])
def test_what_spark_would_put_in_from_its_settings_stays_text(ps: Connection, text: str) -> None:
    ps.sql(f"{STREAM} CREATE QUERY q AS SELECT '{text}' AS x FROM s")
    assert ps.sql(f"SELECT '{text}' AS x").table.to_pylist() == [{"x": text}]
    ps.push("s", [{"ts": "2026-01-01 00:00:00", "k": "a", "n": 1}])
    until(ps, lambda: figures(ps, "q")["rows_out"] == 1)
    assert ps.sql("SELECT x FROM q").table.to_pylist() == [{"x": text}]
