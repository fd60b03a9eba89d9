"""What Arrow is not asked: it is left to Spark, and never an error."""

import pyarrow as pa
import pytest

from penstock.engine.arrow.answers import answer

LEAF = pa.table({"a": pa.array([1, 2, 3], pa.int64()), "v": [0.5, 1.5, 2.5]})
DEEP = {
    "IN": lambda n: f"a IN ({', '.join(map(str, range(n)))})",
    "OR": lambda n: " OR ".join(f"a = {each}" for each in range(n)),
    "+": lambda n: " + ".join(["a"] * n) + " > 1",
    "CASE": lambda n: f"CASE {' '.join(f'WHEN a = {x} THEN {x}' for x in range(n))} END > 1",
    "NOT": lambda n: "NOT " * n + "a > 1",
    "brackets": lambda n: "(" * n + "a > 1" + ")" * n,
}


@pytest.mark.parametrize("size", [160, 400, 3_000])
@pytest.mark.parametrize("kind", sorted(DEEP))
def test_long_and_deep_conditions_are_left_to_spark(kind: str, size: int) -> None:
    assert answer(f"SELECT a FROM leaf WHERE {DEEP[kind](size)}", {"leaf": LEAF}) is None


@pytest.mark.parametrize("kind", sorted(DEEP))
def test_short_ones_are_answered(kind: str) -> None:
    assert answer(f"SELECT a FROM leaf WHERE {DEEP[kind](10)}", {"leaf": LEAF}) is not None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, 1.5 AS x FROM leaf",
        "SELECT a, nullif(1.5, v) AS x FROM leaf",
        "SELECT 1.5 IS NULL AS x FROM leaf",
        "SELECT 9223372036854775808 AS x FROM leaf",
        "SELECT 1.5 AS x, count(*) AS n FROM leaf GROUP BY 1",
        "SELECT a FROM leaf UNION ALL SELECT 2.5 AS a FROM leaf",
    ],
)
def test_decimals_that_meet_no_double_are_left_to_spark(sql: str) -> None:
    assert answer(sql, {"leaf": LEAF}) is None


def test_decimals_that_meet_a_double_are_doubles() -> None:
    found = answer("SELECT v + 1.5 AS x FROM leaf WHERE v > 0.75", {"leaf": LEAF})
    assert found is not None
    assert found["x"].to_pylist() == [3.0, 4.0]
