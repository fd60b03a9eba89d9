"""What reaches outside is closed until the operator opens it by name."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import NotAllowedError, PenstockError, SqlError

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
