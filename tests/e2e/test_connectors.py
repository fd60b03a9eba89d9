"""Connectors from SQL: answers of an address into a lake, and the lake as tables and streams."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock import Settings
from penstock.client import Connection
from penstock.errors import BadOptionError, NotAllowedError
from tests.e2e.support import figures, rows_of, stream_figures, until
from tests.servers.web import WebServer, running_web

pytestmark = pytest.mark.spark


@pytest.fixture
def web() -> Iterator[WebServer]:
    with running_web() as server:
        yield server


def opened(spark: SparkSession, place: Path) -> Connection:
    return penstock.connect(
        place / "home", spark=spark, hosts=["127.0.0.1"], writable=[str(place / "lake")]
    )


def test_answers_become_a_lake_that_tables_and_streams_read_over_restarts(
    spark: SparkSession, tmp_path: Path, web: WebServer
) -> None:
    lake = tmp_path / "lake" / "orders"
    with opened(spark, tmp_path) as ps:
        ps.script(
            f"CREATE STREAM orders (id BIGINT, euros DOUBLE) FROM http(url => '{web.url('rows')}', "
            "rows => 'data.items', cursor => 'next', cursor_param => 'since', "
            "every => INTERVAL 0.1 SECONDS);"
            f"CREATE QUERY paid AS SELECT id, euros FROM orders WHERE euros > 0 "
            f"INTO delta(path => '{lake}');"
            f"CREATE QUERY told AS SELECT id FROM orders INTO http(url => '{web.url('told')}')"
        )
        web.rows += [{"id": n, "euros": n - 1.5} for n in range(5)] + [{"id": "x"}]
        until(ps, lambda: figures(ps, "paid")["rows_out"] == 3)
        assert stream_figures(ps, "orders")["rejected"] == 1
    web.rows += [{"id": n, "euros": 1.0} for n in range(5, 8)]
    with opened(spark, tmp_path) as ps:
        until(ps, lambda: figures(ps, "paid")["rows_out"] == 6)
        until(ps, lambda: sum(len(rows) for _, rows in web.told) == 8)
        ps.script(
            f"DROP QUERY paid; CREATE TABLE known FROM delta(path => '{lake}');"
            f"CREATE STREAM again (id BIGINT) FROM delta(path => '{lake}');"
            "CREATE QUERY both AS SELECT a.id FROM again a JOIN known k ON a.id = k.id"
        )
        until(ps, lambda: figures(ps, "both")["rows_out"] == 6)
        found = rows_of(ps.sql("SELECT id FROM known ORDER BY id").table)
        assert [row["id"] for row in found] == [2, 3, 4, 5, 6, 7]
        web.stop()
        until(ps, lambda: "SOURCE_FAILED" in stream_figures(ps, "orders")["cause"])


def whole(path: Path, text: str) -> None:
    """Put a file there in one step: what is seen half-written is taken away half-read."""
    draft = path.with_name(f".{path.name}")
    draft.write_text(text)
    draft.rename(path)


def test_files_that_grow_and_go_are_read_by_sql(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "logs" / "deep").mkdir(parents=True)
    (tmp_path / "in").mkdir()
    with penstock.connect(
        tmp_path / "home",
        spark=spark,
        writable=[str(tmp_path)],
        settings=Settings(checkpoint_seconds=0.2),
    ) as ps:
        ps.script(
            f"CREATE STREAM lines (said STRING) FROM files(path => '{tmp_path / 'logs'}', "
            "format => 'text', tail => true, recursive => true);"
            "CREATE QUERY loud AS SELECT upper(said) AS said FROM lines;"
            f"CREATE STREAM parts (n INT) FROM files(path => '{tmp_path / 'in'}', format => 'csv', "
            "header => false, after => 'delete');"
            "CREATE QUERY all_parts AS SELECT n FROM parts"
        )
        for name in ("a", "deep/b"):
            (tmp_path / "logs" / name).write_text("one\nhalf")
        until(ps, lambda: figures(ps, "loud")["rows_out"] == 2)
        with (tmp_path / "logs" / "a").open("a") as file:
            file.write(" and more\n")
        until(ps, lambda: figures(ps, "loud")["rows_out"] == 3)
        (tmp_path / "logs" / "a").write_text("begun anew")
        until(ps, lambda: "logs/a" in stream_figures(ps, "lines")["cause"])
        whole(tmp_path / "in" / "1.csv", "1\n2\n")
        until(ps, lambda: figures(ps, "all_parts")["rows_out"] == 2)
        more = count(2)

        def is_taken_away() -> bool:
            """Say whether the first file is gone; what comes later makes for checkpoints."""
            whole(tmp_path / "in" / f"{next(more)}.csv", "3\n")
            return not (tmp_path / "in" / "1.csv").exists()

        until(ps, is_taken_away)
        last = next(more) - 2  # each of these has a row
        until(ps, lambda: figures(ps, "all_parts")["rows_out"] == 2 + last)


def test_a_lake_that_may_not_be_written_or_that_a_stream_reads_is_refused_at_create(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.sql("CREATE STREAM s (n INT) FROM push()")
        with pytest.raises(NotAllowedError):
            ps.sql("CREATE QUERY q AS SELECT n FROM s INTO delta(path => '/nowhere/lake')")
        ps.sql(f"CREATE QUERY q AS SELECT n FROM s INTO delta(path => '{tmp_path / 'lake'}')")
        with pytest.raises(BadOptionError):
            ps.sql(f"CREATE STREAM t (n INT) FROM delta(path => '{tmp_path / 'lake'}')")
