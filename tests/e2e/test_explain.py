"""EXPLAIN over what runs: the bundle of a query, and what a trial of it costs."""

import itertools
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.plan.operators import key
from penstock.runtime.views.trial import share_of_one
from tests.e2e.support import figures, finish, results, rows_of, until

pytestmark = pytest.mark.spark

DOCUMENT = Path(__file__).parents[2] / "docs/explanation/sharing.md"
STREAM = """
CREATE STREAM s (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM push();
"""
QUERIES = "".join(
    f"""CREATE QUERY q{n} AS SELECT k, window_start, count(*) AS c
    FROM s [RANGE {10 * (n % 2 + 1)} SECONDS] WHERE n > {10 * n} GROUP BY k HAVING c > {n};"""
    for n in range(4)
)
TRIAL = re.compile(
    r"  a trial: alone \d+\.\d{3} s, the bundle of 4 \d+\.\d{3} s, "
    r"without it \d+\.\d{3} s, over (\d+) rows"
)


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    with penstock.connect(tmp_path / "home", spark=spark) as connection:
        yield connection


def push(ps: Connection, first: int, last: int) -> None:
    times = [f"2026-01-01 12:{n // 60:02}:{n % 60:02}" for n in range(first, last)]
    ps.push("s", [{"ts": t, "k": "ab"[n % 2], "n": n} for n, t in enumerate(times, first)])


def settled(ps: Connection, query: str, rows: int) -> None:
    """Wait until a query has seen so many rows."""
    until(ps, lambda: figures(ps, query)["rows_in"] >= rows)


def files(home: Path) -> set[str]:
    return {str(path) for path in home.rglob("*") if "spill" in str(path) and path.is_file()}


def test_a_bundled_query_shows_its_bundle_and_what_it_costs(ps: Connection, tmp_path: Path) -> None:
    ps.script(STREAM + QUERIES)
    push(ps, 0, 60)
    settled(ps, "q0", 60)
    system = ps.system
    with system.supervisor.resting():
        live = system.topology.writers[key(system.topology.queries["q1"].root)]
        assert live.state is not None
        before, there = live.state.kept(), files(tmp_path)
        parts = [part.rows for part in before.parts]
        told = ps.sql("EXPLAIN q1").message
        after = live.state.kept()
        assert before.facts == after.facts
        assert [part.rows for part in after.parts] == parts
        assert files(tmp_path) == there
        alone = f"penstock_{key(system.topology.queries['q1'].root)}_0"
        assert not system.sessions.small.catalog.tableExists(alone)
    assert "of 4 queries: q0, q1, q2, q3\n" in told
    assert "tells tuples apart by n (5 buckets); panes of 10 s" in told
    assert " with c0 = 1" in told
    *_, done, tried = told.splitlines()
    assert re.fullmatch(r"  bundle \w{6}: \d+ runs?, 60 rows in, .* s at work", done)
    found = TRIAL.fullmatch(tried)
    assert found is not None, tried
    assert found[1] == "60"
    push(ps, 60, 80)
    ps.end("s")
    finish(ps)
    counts = {n: sum(results(ps, f"q{n}")["c"].to_pylist()) for n in range(4)}
    assert counts == {n: 80 - 10 * n - 1 for n in range(4)}


def test_all_that_runs_is_drawn(ps: Connection) -> None:
    assert ps.sql("EXPLAIN ALL").message == "no query runs"
    ps.script(STREAM + QUERIES + "CREATE QUERY f AS SELECT n FROM s WHERE n > 10;")
    text = ps.sql("EXPLAIN ALL").message
    assert text.startswith("stream s\n")
    assert "    queries q0, q1, q2, q3" in text.splitlines()
    assert "query f" in text
    kinds = [each["kind"] for each in json.loads(ps.sql("EXPLAIN ALL AS JSON").message)["units"]]
    assert sorted(kinds) == ["bundle", "unit"]
    assert ps.sql("explain all as dot").message.startswith("digraph penstock {")
    ps.sql("DROP QUERY q3; STOP QUERY q2")
    assert "    queries q0, q1" in ps.sql("EXPLAIN ALL").message.splitlines()


def test_nothing_is_measured_of_what_does_not_run(ps: Connection) -> None:
    ps.script(STREAM + QUERIES)
    assert "measured" not in ps.sql("EXPLAIN q1").message
    like = "SELECT k, count(*) AS c FROM s [RANGE 10 SECONDS] WHERE n > 7 GROUP BY k"
    told = ps.sql(f"EXPLAIN {like}").message
    assert "of 5 queries: q0, q1, q2, q3, this\n" in told
    assert "measured" not in told


def test_a_query_by_itself_shows_its_units_figures(ps: Connection) -> None:
    ps.script(STREAM + "CREATE QUERY f AS SELECT n FROM s WHERE n > 10;")
    push(ps, 0, 20)
    settled(ps, "f", 20)
    *_, heading, done = ps.sql("EXPLAIN f").message.splitlines()
    assert heading == "measured"
    assert re.fullmatch(r"  unit \w{6}: \d+ runs?, 20 rows in, 9 out, \d+\.\d{3} s at work", done)


def test_filters_that_run_together_are_tried_as_well(ps: Connection) -> None:
    filters = (f"CREATE QUERY f{n} AS SELECT n + 1 AS m FROM s WHERE n > {n};" for n in range(4))
    ps.script(STREAM + "".join(filters))
    push(ps, 0, 20)
    settled(ps, "f0", 20)
    told = ps.sql("EXPLAIN f2").message
    assert "tells tuples apart by n (5 buckets)\n" in told
    found = TRIAL.fullmatch(told.splitlines()[-1])
    assert found is not None, told
    assert found[1] == "20"


def test_a_trial_that_fails_says_why_in_one_line(
    ps: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    ps.script(STREAM + QUERIES)
    push(ps, 0, 20)
    settled(ps, "q0", 20)

    def fail(*_: object) -> None:
        raise OSError("no room\nat all")

    monkeypatch.setattr("penstock.runtime.views.explain.plan.try_member", fail)
    assert ps.sql("EXPLAIN q1").message.endswith("\n  no trial: OSError: no room")
    monkeypatch.setattr("penstock.runtime.views.explain.plan.held_rows", lambda *_: {})
    told = ps.sql("EXPLAIN q1").message
    assert told.endswith("\n  no trial: the trains that it has read are here no more")


def test_what_is_shared_is_shown_with_what_it_saves(
    ps: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rows_of(ps.sql("SHOW SHARING").table) == []
    twins = "".join(f"CREATE QUERY {n} AS SELECT k FROM s WHERE n > 10;" for n in ("f", "g"))
    ps.script(STREAM + QUERIES + twins + "CREATE QUERY h AS SELECT k FROM s WHERE n > 11;")
    before = rows_of(ps.sql("SHOW SHARING").table)
    assert {each["kind"]: each["queries"] for each in before} == {"bundle": 4, "node": 2}
    assert [(each["alone_s"], each["saving"]) for each in before] == [(None, None)] * 2
    push(ps, 0, 60)
    settled(ps, "q0", 60)
    settled(ps, "f", 60)
    tick = itertools.count().__next__  # by this clock each trial takes as long as any other
    monkeypatch.setattr(
        "penstock.runtime.views.relations.topology.sharing.share_of_one",
        partial(share_of_one, timer=tick),
    )
    rows = {each["kind"]: each for each in rows_of(ps.sql("SHOW SHARING").table)}
    bundle, node = rows["bundle"], rows["node"]
    assert bundle["rows_in"] == node["rows_in"] == 60
    assert bundle["saving"] == 4
    assert bundle["busy_s"] > 0
    assert bundle["alone_s"] == pytest.approx(bundle["busy_s"] * 4, abs=0.003)  # as rounded
    assert node["saving"] == 2
    assert node["what"] == "filter (`n` > 10), project `k` over s"

    def fail(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr("penstock.runtime.views.relations.topology.sharing.share_of_one", fail)
    rows = {each["kind"]: each for each in rows_of(ps.sql("SHOW SHARING").table)}
    assert (rows["bundle"]["alone_s"], rows["bundle"]["saving"]) == (None, None)
    assert rows["bundle"]["busy_s"] > 0


def test_the_example_of_the_document_is_what_is_said(ps: Connection) -> None:
    text = DOCUMENT.read_text()
    (script,) = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    shown = re.findall(r"```\n(query .*?)```", text, re.DOTALL)[0].splitlines()
    ps.script(script)
    rows = [{"ts": f"2026-01-01 12:00:{n % 60:02}", "type": "Car", "mph": n} for n in range(60)]
    ps.push("traffic", rows)
    settled(ps, "faster", 60)
    told = ps.sql("EXPLAIN faster").message.splitlines()
    assert len(told) == len(shown)
    for one, other in zip(told, shown, strict=True):
        assert plain(one).startswith(plain(other.removesuffix("…")))


def plain(line: str) -> str:
    """Return a line without figures that are measured."""
    return re.sub(r"\d[\d.,]* (?:s\b|rows|runs?|out)", "#", line)
