"""States belong to plans: by what operators are, never by what EXPLAIN says of them."""

import tarfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.plan.operators import SessionAggregate, identity
from penstock.runtime.durable.home import FORMAT
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
HOMES = Path(__file__).parent / "homes"
RELEASED = sorted(HOMES.glob("format-*.tar.gz"))
QUERIES = ("tumbling", "hours", "sessions", "last", "each", "full", "pairs", "taken", "ups")
HALF, ALL = 15, 35


def source_reader(ps: Connection, numbers: range) -> None:
    for name in ("s", "r"):
        ps.push(name, [row(n, k="ab"[n % 2]) for n in numbers])


def write_half(ps: Connection) -> None:
    """Define everything, and let windows, sessions, joins and events stand half way."""
    ps.script(SCRIPT)
    source_reader(ps, range(HALF))
    arrive(ps, "taken", 9)


def told(ps: Connection) -> dict[str, list[str]]:
    """End the streams, and return all rows, in no order: how trains come together is luck."""
    for name in ("s", "r"):
        ps.end(name)
    finish(ps)
    return {query: sorted(map(str, results(ps, query).to_pylist())) for query in QUERIES}


@pytest.fixture(scope="module")
def expected(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return what comes out where nothing happens on the way."""
    with penstock.connect(tmp_path_factory.mktemp("undisturbed"), spark=spark) as ps:
        ps.script(SCRIPT)
        source_reader(ps, range(ALL))
        found = told(ps)
    assert all(found.values())
    return found


def test_states_are_found_again_when_explain_says_it_in_other_words(
    opener: Opener, expected: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with opener() as ps:
        write_half(ps)
    reword(monkeypatch)
    identity._known.clear()
    with opener() as ps:
        source_reader(ps, range(HALF, ALL))
        assert told(ps) == expected


def test_a_query_whose_state_cannot_be_matched_is_held_until_somebody_resumes_it(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opener() as ps:
        write_half(ps)
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


@pytest.mark.parametrize("home", RELEASED, ids=lambda path: path.name)
def test_a_home_that_a_release_wrote_goes_on(
    home: Path, expected: dict[str, list[str]], spark: SparkSession, tmp_path: Path
) -> None:
    """`python -m tests.e2e.write_home` writes the one of the present format."""
    with tarfile.open(home) as kept:
        kept.extractall(tmp_path, filter="data")
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        source_reader(ps, range(HALF, ALL))
        assert told(ps) == expected


def test_there_is_a_home_of_the_present_format() -> None:
    assert HOMES / f"format-{FORMAT}.tar.gz" in RELEASED
