"""What fails at work is held, told of, and mended; nothing is lost or comes twice."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.trains.memory_budget import MemoryBudget
from penstock.engine.trains.rows import Rows
from penstock.errors import DiskFullError, RunError
from penstock.runtime.work import live_query
from tests.e2e.plain_stream import S, delivered, row
from tests.e2e.support import (
    EACH_TRAIN_ALONE,
    figures,
    finish,
    rows_of,
    stream_figures,
    until,
    write_json,
)

pytestmark = pytest.mark.spark


def test_rows_of_a_file_that_do_not_fit_are_counted_and_kept_and_the_stream_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    good = [json.dumps(row(second)) for second in range(6)]
    bad = ['{"ts": "2026-01-01T00:00:01Z", "n": "x"}', "{broken", '{"k": "b", "n": 1}', "[1, 2]"]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text("\n".join([*good[:3], *bad, *good[3:]]) + "\n")
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(
            "CREATE STREAM s (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM "
            f"files(path => '{tmp_path / 'in'}', format => 'json', bounded => true, "
            "rows_per_train => 4);"
            "CREATE QUERY q AS SELECT n FROM s"
        )
        finish(ps)
        assert len(delivered(ps, "q")) == 6
        assert stream_figures(ps, "s")["rejected"] == 4
        kept = rows_of(ps.sql("SELECT raw, reason FROM s.rejects").table)
        assert [each["raw"] for each in kept] == bad
        assert all(each["reason"] for each in kept)


def test_a_sink_that_fails_holds_its_query_alone_and_after_mending_nothing_is_lost_or_twice(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_query, "RETRY_SECONDS", (0.01, 0.01))
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a directory should be")
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(
            S + f"CREATE QUERY held AS SELECT n FROM s INTO files(path => '{blocked}', "
            "format => 'csv', header => false);"
            "CREATE QUERY free AS SELECT n FROM s"
        )
        ps.push("s", [row(1, 1)])
        until(ps, lambda: figures(ps, "held")["state"] == "FAILED")
        assert "SINK_FAILED" in figures(ps, "held")["cause"]
        for n in range(2, 100):  # more trains than a source may be ahead of its readers
            ps.push("s", [row(n, n)])
            if n % 10 == 0:
                until(ps, lambda n=n: len(delivered(ps, "free")) == n)
        blocked.unlink()
        ps.sql("RESUME QUERY held")
        ps.end("s")
        finish(ps)
        assert figures(ps, "held")["state"] == "FINISHED"
        parts = sorted(blocked.glob("part-*"))
        assert [int(n) for part in parts for n in part.read_text().split()] == [*range(1, 100)]
        assert [each["n"] for each in delivered(ps, "free")] == [*range(1, 100)]


def test_a_sink_that_fails_for_a_moment_is_tried_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_query, "RETRY_SECONDS", (0.01, 0.01))
    tries: list[int] = []

    def stumbles(_: pa.Table, number: int) -> None:
        tries.append(number)
        if len(tries) < 3:
            raise OSError("not now")

    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.script(S + "CREATE QUERY q AS SELECT n FROM s")
        ps.callback("q", stumbles)
        ps.push("s", [row(1)])
        ps.end("s")
        finish(ps)
        assert figures(ps, "q")["state"] == "FINISHED"
        assert tries == [1, 1, 1]


def test_a_callback_that_raises_holds_its_query_and_gets_the_same_delivery_after_resume(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_query, "RETRY_SECONDS", (0.01,))
    seen: list[tuple[int, list[int]]] = []
    mended = False

    def call(rows: pa.Table, number: int) -> None:
        if not mended:
            raise ValueError("no")
        seen.append((number, rows["n"].to_pylist()))

    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.script(S + "CREATE QUERY q AS SELECT n FROM s; CREATE QUERY free AS SELECT n FROM s")
        ps.callback("q", call)
        ps.push("s", [row(1, 1), row(2, 2)])
        until(ps, lambda: figures(ps, "q")["state"] == "FAILED")
        assert "ValueError: no" in figures(ps, "q")["cause"]
        until(ps, lambda: len(delivered(ps, "free")) == 2)
        mended = True
        ps.sql("RESUME QUERY q")
        ps.push("s", [row(3, 3)])
        ps.end("s")
        finish(ps)
        assert [number for number, _ in seen] == [*range(1, len(seen) + 1)]
        assert [n for _, values in seen for n in values] == [1, 2, 3]


def test_an_expression_that_fails_at_work_holds_its_query_and_the_others_run_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.script(
            S + "CREATE QUERY bad AS SELECT 10 / n AS y FROM s;"
            "CREATE QUERY sums AS SELECT window_start, sum(10 / n) AS y FROM s [RANGE 1 SECOND];"
            "CREATE QUERY good AS SELECT n FROM s"
        )
        ps.push("s", [row(1, 5)])
        until(ps, lambda: len(delivered(ps, "bad")) == 1)
        ps.push("s", [row(2, 0)])
        until(ps, lambda: figures(ps, "bad")["state"] == "FAILED")
        until(ps, lambda: figures(ps, "sums")["state"] == "FAILED")
        for query in ("bad", "sums"):
            assert "RUN_FAILED" in figures(ps, query)["cause"]
            assert "ivision by zero" in figures(ps, query)["cause"]
            assert "Exception" not in figures(ps, query)["cause"]
        for n in range(3, 120):
            ps.push("s", [row(n, n)])
            if n % 10 == 0:
                until(ps, lambda n=n: len(delivered(ps, "good")) == n)
        ps.end("s")
        finish(ps, held={"bad", "sums"})
        assert figures(ps, "good")["state"] == "FINISHED"
        assert len(delivered(ps, "good")) == 119
        assert figures(ps, "bad")["state"] == "FAILED"


def test_a_new_query_beside_a_held_one_runs_and_the_held_one_can_be_dropped(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.script(S + "CREATE QUERY bad AS SELECT ts, 10 / n AS y FROM s WHERE k = 'a'")
        ps.push("s", [row(1, 0)])
        until(ps, lambda: figures(ps, "bad")["state"] == "FAILED")
        # It shares the filter of the held one: the cut into units becomes another.
        ps.sql("CREATE QUERY good AS SELECT ts, n FROM s WHERE k = 'a'")
        ps.push("s", [row(2, 2)])
        until(ps, lambda: [each["n"] for each in delivered(ps, "good")] in ([2], [0, 2]))
        ps.sql("DROP QUERY bad")
        ps.push("s", [row(3, 3)])
        ps.end("s")
        finish(ps)
        assert figures(ps, "good")["state"] == "FINISHED"
        assert delivered(ps, "good")[-1]["n"] == 3


@pytest.mark.parametrize("fails", ["close", "compact", "leave_memory"])
def test_a_run_that_failed_half_way_counts_nothing_twice(
    fails: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.engine.states.parts.COMPACT_PARTS", 3)
    # Parts go to disk, and are combined.
    monkeypatch.setattr(MemoryBudget, "has_room", lambda *_: False)
    monkeypatch.setattr("penstock.engine.trains.rows.SMALL_ROWS", 5)
    owner = Rows if fails == "leave_memory" else Processor
    does, failures = getattr(owner, fails), []

    def fail_twice(*arguments: Any, **options: Any) -> Any:
        if len(failures) < 2:
            failures.append(fails)
            raise DiskFullError("no room") if owner is Rows else RunError("broken")
        return does(*arguments, **options)

    monkeypatch.setattr(owner, fails, fail_twice)
    with penstock.connect(tmp_path, spark=spark, settings=EACH_TRAIN_ALONE) as ps:
        ps.script(
            S.replace("push()", "push(rows_per_train => 1)")
            + "CREATE QUERY c AS SELECT window_start, n, count(*) AS c, sum(n) AS s "
            "FROM s [RANGE 10 MINUTES] GROUP BY n"
        )
        for train in range(8):
            ps.push("s", [row(train * 10 + at, at) for at in range(9)])
        ps.end("s")
        while not ps.wait(0) or figures(ps, "c")["state"] == "FAILED":
            if figures(ps, "c")["state"] == "FAILED":
                ps.sql("RESUME QUERY c")
        assert len(failures) == 2
        assert [(each["c"], each["s"]) for each in delivered(ps, "c")] == [
            (8, 8 * n) for n in range(9)
        ]


def test_a_source_that_goes_away_is_told_of_and_comes_back(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = tmp_path / "in"
    write_json(source / "a.json", [row(1, 1)])
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(
            "CREATE STREAM s (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM "
            f"files(path => '{source}', format => 'json');"
            "CREATE QUERY q AS SELECT n FROM s"
            + ";"
            + S.replace("STREAM s", "STREAM other")
            + "CREATE QUERY o AS SELECT n FROM other"
        )
        until(ps, lambda: len(delivered(ps, "q")) == 1)
        source.rename(tmp_path / "away")
        until(ps, lambda: stream_figures(ps, "s")["state"] == "FAILED")
        assert "SOURCE_FAILED" in stream_figures(ps, "s")["cause"]
        ps.push("other", [row(1)])
        until(ps, lambda: len(delivered(ps, "o")) == 1)
        write_json(tmp_path / "away" / "b.json", [row(2, 2)])  # nobody sees it half written
        (tmp_path / "away").rename(source)
        until(ps, lambda: len(delivered(ps, "q")) == 2)
        assert stream_figures(ps, "s")["state"] == "OPEN"


def test_names_can_be_used_again_after_their_queries_have_ended_or_gone(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_json(tmp_path / "in" / "a.json", [row(second, second) for second in range(30)])
    stream = (
        "CREATE STREAM s (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM "
        f"files(path => '{tmp_path / 'in'}', format => 'json', bounded => true);"
    )
    count = "SELECT window_start, count(*) AS c FROM s [RANGE 10 SECONDS]"
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        for turn in range(3):
            ps.script(stream + f"CREATE QUERY q AS {count}; CREATE QUERY p AS SELECT c FROM q")
            finish(ps)
            assert [each["c"] for each in delivered(ps, "q")] == [10, 10, 10], turn
            assert len(delivered(ps, "p")) == 3
            ps.script("DROP QUERY p; DROP QUERY q; DROP STREAM s")
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(stream + f"CREATE QUERY q AS {count}")
        finish(ps)
        assert [each["c"] for each in delivered(ps, "q")] == [10, 10, 10]


def test_late_rows_stay_readable_when_another_query_comes_to_share_the_window(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.script(
            S + "CREATE QUERY a AS SELECT window_start, count(*) AS c FROM s [RANGE 1 SECOND]"
        )
        ps.push("s", [row(1, 1), row(9, 2)])
        until(ps, lambda: len(delivered(ps, "a")) == 1)
        ps.push("s", [row(1, 3)])
        until(ps, lambda: figures(ps, "a")["late_rows"] == 1)
        ps.sql("CREATE QUERY b AS SELECT count(*) + 1 AS c FROM s [RANGE 1 SECOND]")
        ps.push("s", [row(2, 4)])
        until(ps, lambda: figures(ps, "a")["late_rows"] == 2)
        late = [each["n"] for each in rows_of(ps.sql("SELECT n FROM a.late").table)]
        assert sorted(late) == [3, 4]
        ps.script("DROP QUERY a; DROP QUERY b")
        ps.sql("CREATE QUERY a AS SELECT window_start, count(*) AS c FROM s [RANGE 1 SECOND]")
        assert rows_of(ps.sql("SELECT n FROM a.late").table) == []
