"""One pass for sections that differ in their keys."""

from penstock.plan.aggregates import Aggregate
from penstock.plan.bundles.cover import cover_of, rolled_up_sql
from penstock.plan.bundles.layout import Layout, layout_of
from penstock.plan.bundles.member import member_of
from tests.unit.plan.bundles.queries import COUNT, MAX, SECOND, aggregate


def layout(size: int, key: str, aggregates: tuple[Aggregate, ...]) -> Layout:
    member = member_of(aggregate(size=size, keys=(key,), aggregates=aggregates))
    assert member is not None
    return layout_of([member])


def test_a_cover_has_everybodys_keys_and_aggregates_on_a_common_pane() -> None:
    one = layout(10, "`k`", (COUNT,))
    two = layout(4, "`x`", (MAX, COUNT))
    cover = cover_of([one, two])
    assert [sql for _, sql in cover.keys] == ["`k`", "`x`"]
    assert cover.pane == 2 * SECOND
    assert len(cover.aggregates) == 2
    assert not cover.told


def test_a_section_is_rolled_up_by_its_own_keys_and_panes() -> None:
    one = layout(10, "`k`", (COUNT,))
    sql = rolled_up_sql(one, "cover")
    assert sql.endswith("FROM cover AS i GROUP BY 1, 2")
    assert f"_pane - pmod(_pane, {10 * SECOND}L) AS _pane" in sql
    assert " AS `k0`, " in sql
    assert "sum(" in sql
