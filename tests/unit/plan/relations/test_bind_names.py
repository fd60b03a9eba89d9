"""Lists of column names after an alias."""

import pytest

from penstock.errors import BadQueryError
from penstock.model.own_names import readable
from penstock.plan.operators import EventTime, Project, TableJoin, WindowAggregate, walk
from tests.unit.plan.twin import World, bind


@pytest.mark.parametrize(
    "select",
    [
        "WITH x (a, b) AS (SELECT ts, mph FROM traffic) SELECT x.b, a FROM x",
        "WITH y AS (SELECT ts, mph FROM traffic), x (a, b) AS (SELECT * FROM y) SELECT b, a FROM x",
        "SELECT b, x.a FROM (SELECT ts, mph FROM traffic) AS x (a, b)",
        "SELECT b, a FROM (SELECT ts, mph FROM traffic) x (a, b)",
    ],
)
def test_a_list_names_the_columns(select: str) -> None:
    root = bind(select)
    assert isinstance(root, Project)
    assert isinstance(root.input, Project)
    assert root.input.columns == (("a", "`ts`"), ("b", "`mph`"))
    assert root.schema.names == ("b", "a")
    assert root.times == (EventTime("a"),)


@pytest.mark.parametrize(
    "alias", ["AS s (p, q, r) [RANGE 1 MINUTE]", "[RANGE 1 MINUTE] s (p, q, r)"]
)
def test_windows_go_by_the_new_name_of_the_time(alias: str) -> None:
    root = bind(f"SELECT q, count(*) AS n FROM south {alias} GROUP BY q")
    (aggregate,) = (node for node in walk(root) if isinstance(node, WindowAggregate))
    assert aggregate.time == EventTime("p")


@pytest.mark.parametrize(
    "select",
    [
        "WITH x (a) AS (SELECT ts, mph FROM traffic) SELECT a FROM x",
        "WITH x (a, b, c) AS (SELECT ts, mph FROM traffic) SELECT a FROM x",
        "WITH x (a, A) AS (SELECT ts, mph FROM traffic) SELECT a FROM x",
        "SELECT p FROM south s (p, q)",
        "SELECT t.mph FROM traffic t JOIN roads r (p, q, s) ON t.mph = p",
    ],
)
def test_a_list_that_does_not_fit_is_refused(select: str) -> None:
    with pytest.raises(BadQueryError):
        bind(select)


def test_a_natural_join_uses_what_both_sides_have() -> None:
    for kind in ("", "LEFT "):
        natural = bind(f"SELECT * FROM traffic NATURAL {kind}JOIN roads")
        assert natural == bind(f"SELECT * FROM traffic {kind}JOIN roads USING (mph)")
        (join,) = (node for node in walk(natural) if isinstance(node, TableJoin))
        assert readable(join.on) == "l.`mph` = r.`mph`"
    world = World()
    world.name("other", "SELECT ts, car_id, mph AS speed FROM traffic")
    one = "[RANGE 1 MINUTE]"
    natural = world.bind(f"SELECT * FROM traffic {one} a NATURAL JOIN other {one} b")
    assert natural == world.bind(
        f"SELECT * FROM traffic {one} a JOIN other {one} b USING (ts, car_id)"
    )
    with pytest.raises(BadQueryError):
        world.bind("SELECT * FROM other NATURAL JOIN roads")
