"""States belong to plans: by what operators are, never by what EXPLAIN says of them."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.plan.operators import SessionAggregate, identity
from tests.e2e.numbered import Opener, arrive, push, row, state
from tests.e2e.support import figures, finish, results
from tests.golden.test_identity import reword

pytestmark = pytest.mark.spark

SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM push();
CREATE STREAM r (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM push();
CREATE QUERY tumbling AS SELECT window_start, k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k;
CREATE QUERY hours AS SELECT window_start, sum(n) AS n FROM s [RANGE 1 HOUR];
CREATE QUERY sessions AS SELECT k, count(*) AS n FROM s [SESSION GAP 20 SECONDS] GROUP BY k;
CREATE QUERY last AS SELECT sum(n) AS n FROM s [ROWS 7 SLIDE 7];
CREATE QUERY each AS SELECT k, sum(n) AS n FROM s [PARTITION BY k ROWS 3] GROUP BY k;
CREATE QUERY full AS SELECT sum(n) AS n FROM s [WHEN sum(n) > 40];
CREATE QUERY pairs AS SELECT s.n, r.n AS m FROM s [RANGE 5 SECONDS]
  JOIN r [RANGE 5 SECONDS] ON s.k = r.k;
CREATE QUERY taken AS SELECT n FROM s STOP AFTER 9 TUPLES;
CREATE EVENT odd AS SELECT n MASK n % 2 = 1 FROM s;
CREATE EVENT five AS SELECT n MASK n % 5 = 0 FROM s;
CREATE EVENT up AS SELECT a.n AS a, b.n AS b FROM (odd a SEQ five b) WITHIN INTERVAL 1 MINUTE;
CREATE QUERY ups AS SELECT a, b FROM up;
"""
QUERIES = ("tumbling", "hours", "sessions", "last", "each", "full", "pairs", "taken", "ups")
HALF, ALL = 15, 35


def feed(ps: Connection, numbers: range) -> None:
    for name in ("s", "r"):
        ps.push(name, [row(n, k="ab"[n % 2]) for n in numbers])


def told(ps: Connection) -> dict[str, list[str]]:
    """End the streams, and return all rows, in no order: how trains come together is luck."""
    for name in ("s", "r"):
        ps.end(name)
    finish(ps)
    return {query: sorted(map(str, results(ps, query).to_pylist())) for query in QUERIES}


def test_states_are_found_again_when_explain_says_it_in_other_words(
    opener: Opener, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with penstock.connect(tmp_path / "undisturbed", spark=spark) as ps:
        ps.script(SCRIPT)
        feed(ps, range(ALL))
        expected = told(ps)
    assert all(expected.values())
    with opener() as ps:
        ps.script(SCRIPT)
        feed(ps, range(HALF))
        arrive(ps, "taken", 9)
    reword(monkeypatch)
    identity._known.clear()
    with opener() as ps:
        feed(ps, range(HALF, ALL))
        assert told(ps) == expected


def test_a_query_whose_state_cannot_be_matched_is_held_until_somebody_resumes_it(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opener() as ps:
        ps.script(SCRIPT)
        feed(ps, range(HALF))
        arrive(ps, "taken", 9)
    with monkeypatch.context() as other_version:
        other_version.setattr(SessionAggregate, "KIND", "another", raising=False)
        identity._known.clear()
        with opener() as ps:
            assert state(ps, "sessions") == "FAILED"
            assert "belongs to another plan" in str(figures(ps, "sessions")["cause"])
            assert state(ps, "hours") == "RUNNING"
    identity._known.clear()
    with opener() as ps:  # its state is gone: that is not forgotten
        assert state(ps, "sessions") == "FAILED"
        ps.sql("RESUME QUERY sessions")
        push(ps, 200, 201)
        ps.push("s", [row(300)])
        assert arrive(ps, "sessions", 1) == [2]
        ps.push("s", [row(4000)])
        until_hour = sum(range(HALF)) + 200 + 201 + 300
        assert arrive(ps, "hours", 1) == [until_hour]
