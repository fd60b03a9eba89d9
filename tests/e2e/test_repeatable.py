"""What another run would answer otherwise is refused in all that runs again, and nowhere else."""

from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.client import Connection
from penstock.errors import NotRepeatableError, PenstockError
from penstock.functions.library.declare import stream_function
from tests.e2e.support import finish, rows_of

pytestmark = pytest.mark.spark

CHANGES: dict[str, Any] = {"deterministic": False}
CONSTANT: dict[str, Any] = CHANGES | {
    "init": lambda: 7,
    "update": lambda state, *_: state,
    "merge": min,
    "finish": lambda _: 7,
    "takes": ["int"],
    "state": "int",
    "returns": "int",
}
DEFINED = """
CREATE STREAM s (ts TIMESTAMP, k STRING, n INT, xs ARRAY<INT>) TIMESTAMP BY ts FROM push();
CREATE STREAM other (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM push();
CREATE STREAM TYPE item (ts TIMESTAMP, k STRING, n INT, xs ARRAY<INT>);
"""
CALLS = (
    "rand()",
    "rand(3)",
    "randn()",
    "random(7)",
    "`rand`(1)",
    "builtin.rand()",
    "system.builtin.RAND()",
    "uuid()",
    "shuffle(xs)",
    "uniform(1, 9)",
    "randstr(4)",
    "current_timestamp",
    "current_timestamp()",
    "now()",
    "current_date",
    "curdate()",
    "current_time()",
    "localtimestamp()",
    "unix_timestamp()",
    "monotonically_increasing_id()",
    "spark_partition_id()",
    "input_file_name()",
    "input_file_block_start()",
    "current_user()",
    "current_user",
    "session_user()",
    "current_database()",
    "version()",
    "aes_encrypt(k, '0000111122223333')",
    "TIMESTAMP 'now'",
    "DATE 'today'",
    "CAST('yesterday' AS DATE)",
    "CAST(concat('n', 'ow') AS TIMESTAMP)",
    "to_timestamp('now')",
    "transform(xs, x -> x + rand())",
    "(SELECT count(*) FROM VALUES (1) AS v(a) WHERE a > rand())",
)
# Each place of the language that takes an expression over tuples.
PLACES = (
    "CREATE QUERY q AS SELECT hash({0}) AS h FROM s",
    "CREATE QUERY q AS SELECT n FROM s WHERE hash({0}) > 3",
    "CREATE QUERY q AS SELECT count(*) AS c FROM s [RANGE 1 MINUTE] GROUP BY hash({0})",
    "CREATE QUERY q AS SELECT count(*) AS c FROM s [RANGE 1 MINUTE] HAVING count(*) > hash({0})",
    "CREATE QUERY q AS SELECT sum(hash({0})) AS c FROM s [RANGE 1 MINUTE]",
    "CREATE QUERY q AS SELECT count(*) FILTER (WHERE hash({0}) > 1) AS c FROM s [RANGE 1 MINUTE]",
    "CREATE QUERY q AS SELECT k, count(*) AS c FROM s [SESSION GAP 1 MINUTE] GROUP BY k, hash({0})",
    "CREATE QUERY q AS SELECT * FROM (SELECT hash({0}) AS h FROM s) AS x",
    "CREATE QUERY q AS WITH x AS (SELECT hash({0}) AS h FROM s) SELECT h FROM x",
    "CREATE QUERY q AS SELECT n FROM s UNION ALL SELECT hash({0}) FROM s",
    "CREATE QUERY q AS SELECT n FROM s [RANGE 1 MINUTE] ORDER BY hash({0}) LIMIT 3",
    "CREATE QUERY q AS SELECT n FROM s [RANGE 1 MINUTE] "
    "QUALIFY row_number() OVER (PARTITION BY window_start ORDER BY hash({0})) = 1",
    "CREATE QUERY q AS SELECT a.n FROM s [RANGE 1 MINUTE] AS a JOIN other [RANGE 1 MINUTE] AS b "
    "ON a.k = b.k AND hash({0}) > b.n",
    "CREATE QUERY q WITH (max_error => 0.1) AS SELECT n FROM s SHED BY hash({0})",
    "CREATE STREAM g (ts TIMESTAMP, k STRING, n INT, xs ARRAY<INT>) TIMESTAMP BY ts FROM push() "
    "SHED BY hash({0})",
    "CREATE EVENT e AS SELECT n MASK hash({0}) > 3 FROM s",
    "CREATE EVENT e AS SELECT hash({0}) AS h FROM s",
    "CREATE RULE r ON s WHEN hash({0}) > 3 DO INSERT INTO other SELECT ts, k, n",
    "CREATE RULE r ON s DO INSERT INTO other SELECT ts, k, hash({0}) AS n",
    "CREATE FUNCTION f(i item) RETURNS item AS SELECT ts, k, hash({0}) AS n, xs FROM i",
    "CREATE STREAM g (ts TIMESTAMP, h INT) TIMESTAMP BY ts "
    "FROM generator(rows => 3, h => hash({0}))",
    "PUNCTUATE s WHERE hash({0}) > 3",
)


def test_no_place_of_the_language_takes_what_changes(ps: Connection) -> None:
    ps.sql(DEFINED)
    taken = [place for place in PLACES if not _refused(ps, place.format("rand()"))]
    assert taken == []


def test_no_function_that_changes_stands_in_a_query(ps: Connection) -> None:
    ps.sql(DEFINED)
    selects = {call: f"CREATE QUERY q AS SELECT hash({call}) AS h FROM s" for call in CALLS}
    assert [call for call, text in selects.items() if not _refused(ps, text)] == []


def test_a_comparison_with_now_is_told_from_others_like_it(ps: Connection) -> None:
    ps.sql(DEFINED)
    ps.sql("CREATE QUERY a AS SELECT n FROM s WHERE ts > '2026-01-01'")
    ps.sql("CREATE QUERY b AS SELECT n FROM s WHERE k = 'now'")
    for time in ("now", " Today", "yesterday UTC"):
        with pytest.raises(NotRepeatableError):
            ps.sql(f"CREATE QUERY c AS SELECT n FROM s WHERE ts > '{time}'")


def test_what_depends_on_tuples_alone_stands(ps: Connection) -> None:
    ps.sql(DEFINED)
    ps.sql(
        "CREATE QUERY q AS SELECT unix_timestamp(ts) AS a, xxhash64(n, 42) AS b, "
        "sha2(k, 256) AS c, 'rand()' AS d, 'now(' AS e, n AS version FROM s WHERE k <> 'rand('"
    )


def test_a_one_time_select_takes_what_changes(ps: Connection) -> None:
    ps.sql(DEFINED)
    for call in (call for call in CALLS if "xs" not in call and "k," not in call):
        assert ps.sql(f"SELECT {call} AS x").table is not None


def test_python_that_is_not_deterministic_is_for_one_time_selects(ps: Connection) -> None:
    ps.sql("CREATE STREAM TYPE point (ts TIMESTAMP, n INT)")
    ps.sql("CREATE STREAM p OF point TIMESTAMP BY ts FROM push()")
    ps.aggregate("anyhow", **CONSTANT)
    ps.register(stream_function(lambda table: table, name="somehow", over="table", **CHANGES))
    for text in ("SELECT anyhow(n) AS x FROM p [RANGE 1 MINUTE]", "FLOW somehow() OVER p"):
        assert _refused(ps, f"CREATE QUERY q AS {text}")
    ps.sql("CREATE QUERY kept AS SELECT ts, n FROM p")
    ps.push("p", [{"ts": datetime(2026, 3, 1, tzinfo=UTC), "n": 1}])
    ps.end("p")
    finish(ps)
    assert rows_of(ps.sql("SELECT anyhow(n) AS x FROM kept").table) == [{"x": 7}]
    assert rows_of(ps.sql("SELECT n FROM somehow(kept)").table) == [{"n": 1}]


def _refused(ps: Connection, text: str) -> bool:
    """Say whether a statement is refused for that reason, with a hint; it is gone either way."""
    try:
        ps.sql(text)
    except NotRepeatableError as error:
        return bool(error.hint)
    except PenstockError as error:
        raise AssertionError(text) from error
    finally:
        ps.sql("DROP QUERY IF EXISTS q")
    return False
