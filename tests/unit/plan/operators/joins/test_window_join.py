"""How Spark is told to join: what is looked up, and what is put into time buckets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.own_names import readable
from penstock.model.schema import Column, Schema
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import EventTime, Scan, WindowJoin
from penstock.plan.operators.joins.window_join import HASH, How, JoinSide

SCHEMA = Schema((Column("ts", "timestamp"), Column("k", "string")))
NAMES = [f"{age}_{side}" for age in ("new", "old", "all") for side in "lr"]
counts = st.integers(0, 10**6)


def join_of(kind: str, widths: tuple[int, int] = (1, 2)) -> WindowJoin:
    time = EventTime("ts")
    left, right = (Scan(name, 1, SCHEMA, (time,)) for name in "ab")
    sides = (JoinSide(time, widths[0], (("k", "k"),)), JoinSide(time, widths[1], (("k", "r_k"),)))
    return WindowJoin(left, right, sides, kind, "")


def sql_of(join: WindowJoin, how: How) -> str:
    marks = (BEGIN_OF_TIME,) * 2, (END_OF_TIME,) * 2
    return readable(join.run_sql({name: name for name in NAMES}, *marks, how))


@given(left=counts, right=counts)
def test_what_is_looked_up_grows_only_where_it_is_much_smaller(left: int, right: int) -> None:
    how = How(HASH, {"new_l": left, "all_r": right}, by_time=True)
    spread = how.spread("new_l", "all_r")
    looked_up = 0 if how.hint("new_l", "all_r").endswith("l)") else 1
    assert (left, right)[looked_up] == min(left, right)
    assert spread != looked_up or 2 * min(left, right) <= max(left, right) / 2


@pytest.mark.parametrize("kind", ["LEFT SEMI", "LEFT ANTI"])
def test_rows_that_come_once_stand_in_one_bucket(kind: str) -> None:
    sql = sql_of(join_of(kind), How(by_time=True))
    assert sql.count("explode") == sql.count(" JOIN (SELECT *, explode") > 0


def test_equal_times_need_no_buckets_and_explain_shows_none() -> None:
    assert [when for when, _ in join_of("INNER", (0, 0)).steps_sql()] == ["each run:"]
    assert [when for when, _ in join_of("INNER").steps_sql()] == ["each run:", "few keys:"]
    assert "explode" not in sql_of(join_of("FULL"), How())
