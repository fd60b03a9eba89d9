"""SELECTs inside expressions: as meetings with a table, or as text for Spark."""

import pytest

from penstock.model.own_names import readable
from penstock.plan.operators import Filter, Operator, Project, TableJoin, WindowAggregate
from tests.unit.plan.twin import bind

VIEW = "_penstock_table_roads_4"


def joined(where: str) -> TableJoin:
    root = bind(f"SELECT * FROM traffic t WHERE {where}")
    assert isinstance(root, TableJoin)
    return root


@pytest.mark.parametrize(
    ("where", "kind", "on"),
    [
        ("mph IN (SELECT id FROM roads)", "LEFT SEMI", "(l.`mph` = r.`id`)"),
        ("mph + 1 IN ((SELECT id * 2 AS x FROM roads))", "LEFT SEMI", "(l.`mph` + 1 = r.`id` * 2)"),
        ("mph IN (SELECT mph FROM roads)", "LEFT SEMI", "(l.`mph` = r.`mph`)"),
        ("mph IN (SELECT DISTINCT r.mph FROM roads r)", "LEFT SEMI", "(l.`mph` = r.`mph`)"),
        (
            "mph IN (SELECT id FROM roads WHERE name = 'x' AND roads.mph > t.mph)",
            "LEFT SEMI",
            "(l.`mph` = r.`id`) AND (r.`mph` > l.`mph`) AND (r.`name` = 'x')",
        ),
        (
            "(mph, kind) IN (SELECT id, name FROM roads)",
            "LEFT SEMI",
            "(l.`kind` = r.`name`) AND (l.`mph` = r.`id`)",
        ),
        ("EXISTS (SELECT 1 FROM roads)", "LEFT SEMI", "TRUE"),
        ("EXISTS (SELECT * FROM roads r WHERE r.id = mph)", "LEFT SEMI", "(r.`id` = r.`mph`)"),
        ("EXISTS (SELECT * FROM roads r WHERE r.id = t.mph)", "LEFT SEMI", "(r.`id` = l.`mph`)"),
        (
            "NOT EXISTS (SELECT 1 FROM roads WHERE name = kind)",
            "LEFT ANTI",
            "(r.`name` = l.`kind`)",
        ),
        (
            "NOT EXISTS (SELECT 1 FROM roads WHERE id = st.a)",
            "LEFT ANTI",
            "(r.`id` = l.`st`.`a`)",
        ),
        (
            "mph NOT IN (SELECT id FROM roads)",
            "LEFT ANTI",
            "(l.`mph` = r.`id` OR (l.`mph` = r.`id`) IS NULL)",
        ),
    ],
)
def test_in_and_exists_over_a_table_are_semi_and_anti_joins(where: str, kind: str, on: str) -> None:
    join = joined(where)
    assert (join.kind, readable(join.on)) == (kind, on)
    assert join.schema.names == join.input.schema.names
    assert f"join roads#4 on {on}" in readable(join.text())


def test_what_is_left_of_where_comes_first() -> None:
    join = joined(
        "kind = 'x' AND mph IN (SELECT id FROM roads) AND NOT EXISTS (SELECT 1 FROM roads)"
    )
    assert join.kind == "LEFT ANTI"
    assert isinstance(join.input, TableJoin)
    assert isinstance(join.input.input, Filter)
    assert join.input.input.conditions == ("`kind` = 'x'",)


def test_a_join_of_streams_is_met_with_the_table_above() -> None:
    root = bind(
        "SELECT t.mph FROM traffic [RANGE 1 MINUTE] t, south [RANGE 1 MINUTE] s "
        "WHERE t.car_id = s.id AND s.mph IN (SELECT mph FROM roads)"
    )
    met = [node for node in _down(root) if isinstance(node, TableJoin)]
    assert [readable(each.on) for each in met] == ["(l.`r_mph` = r.`mph`)"]


def test_the_window_stands_below_what_where_chooses() -> None:
    root = bind("SELECT count(*) AS n FROM traffic [ROWS 10] WHERE mph IN (SELECT id FROM roads)")
    nodes = [type(node).__name__ for node in _down(root)]
    assert nodes == ["Project", "WindowAggregate", "TableJoin", "Ordered", "Scan"]


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("mph > (SELECT max(id) FROM roads)", f"`mph` > (SELECT MAX(id) FROM {VIEW} AS roads)"),
        (
            "kind = 'x' OR mph IN (SELECT id FROM roads)",
            f"`kind` = 'x' OR `mph` IN (SELECT id FROM {VIEW} AS roads)",
        ),
        (
            "mph IN (SELECT max(r.id) FROM roads r GROUP BY name)",
            f"`mph` IN (SELECT MAX(r.id) FROM {VIEW} AS r GROUP BY name)",
        ),
        (
            "NOT mph NOT IN (SELECT id FROM roads LIMIT 3)",
            f"NOT NOT `mph` IN (SELECT id FROM {VIEW} AS roads LIMIT 3)",
        ),
        ("mph IN (SELECT 1)", "`mph` IN (SELECT 1)"),
        (
            "mph IN (SELECT a FROM roads AS r (a, b, c))",
            f"`mph` IN (SELECT a FROM {VIEW} AS r(a, b, c))",
        ),
        (
            "EXISTS (SELECT 1 FROM roads a JOIN roads b ON a.id = b.mph)",
            f"EXISTS(SELECT 1 FROM {VIEW} AS a JOIN {VIEW} AS b ON a.id = b.mph)",
        ),
    ],
)
def test_any_other_select_over_tables_is_sparks(where: str, text: str) -> None:
    root = bind(f"SELECT * FROM traffic WHERE {where}")
    assert isinstance(root, Filter)
    assert root.conditions == (text,)


def test_columns_and_having_may_have_a_select_over_tables() -> None:
    root = bind("SELECT mph - (SELECT avg(mph) FROM roads) AS more, (SELECT 1) FROM traffic")
    assert isinstance(root, Project)
    assert root.columns == (
        ("more", f"`mph` - (SELECT AVG(mph) FROM {VIEW} AS roads)"),
        ("(SELECT 1)", "(SELECT 1)"),
    )
    root = bind(
        "SELECT kind, count(*) AS n FROM traffic [RANGE 1 MINUTE] GROUP BY kind "
        "HAVING n > (SELECT max(id) FROM roads)"
    )
    assert isinstance(root, Project)
    assert isinstance(root.input, Filter)
    (condition,) = root.input.conditions
    assert readable(condition) == readable(f"(`a0`) > (SELECT MAX(id) FROM {VIEW} AS roads)")
    assert isinstance(root.input.input, WindowAggregate)


def _down(node: Operator) -> list[Operator]:
    found = [node]
    while len(node.inputs) == 1:
        node = node.inputs[0]
        found.append(node)
    return found
