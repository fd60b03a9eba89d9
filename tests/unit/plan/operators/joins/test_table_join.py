import re

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.own_names import readable
from penstock.plan.operators import TableJoin, table_view
from tests.unit.plan.twin import TRAFFIC


@given(st.text(min_size=1), st.integers(1, 99))
@settings(deadline=None)
def test_a_tables_view_has_a_name_that_spark_takes(name: str, incarnation: int) -> None:
    assert re.fullmatch(r"[a-z0-9_]+", table_view(name, incarnation))


@given(st.text(min_size=1), st.text(min_size=1), st.integers(1, 99), st.integers(1, 99))
@settings(deadline=None)
def test_tables_of_different_incarnations_have_different_views(
    one: str, two: str, first: int, second: int
) -> None:
    assert first == second or table_view(one, first) != table_view(two, second)


def test_the_columns_that_are_taken_get_their_names_and_the_table_is_broadcast() -> None:
    join = TableJoin(
        TRAFFIC, "roads", 4, "LEFT", "l.`mph` = r.`id`", (("mph", "roads_mph"),), TRAFFIC.schema
    )
    assert readable(join.sql(["leaf"])) == (
        "SELECT /*+ BROADCAST(r) */ l.*, r.`mph` AS `roads_mph` "
        "FROM leaf AS l LEFT JOIN table_roads_4 AS r ON l.`mph` = r.`id`"
    )
