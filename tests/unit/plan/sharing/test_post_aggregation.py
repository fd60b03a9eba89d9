"""Tails of one shape: literals that are compared or shown become columns."""

from decimal import Decimal

from penstock.model.own_names import readable
from penstock.plan.operators.bundles.member import Member, member_of
from penstock.plan.sharing.post_aggregation import post_aggregation_of
from tests.unit.plan.bundles.queries import aggregate, kept, shown


def member(text: str) -> Member:
    found = member_of(shown(kept(aggregate(), text), ("k0", "`k0`"), ("l", "'x'")))
    assert found is not None
    return found


def test_compared_literals_become_constants_with_sparks_types() -> None:
    post_aggregation = post_aggregation_of(
        member("`a0` > 5 AND `a0` < -2.50 AND `k0` <> 'y' AND `a0` <= 3000000000")
    )
    assert post_aggregation.constants == (5, Decimal("-2.50"), "y", 3_000_000_000, "x")
    assert post_aggregation.shape.types == ("int", "decimal(3,2)", "string", "bigint", "string")


def test_tails_that_differ_only_in_those_have_one_shape() -> None:
    assert (
        post_aggregation_of(member("`a0` > 5")).shape
        == post_aggregation_of(member("`a0` > 7")).shape
    )


def test_other_literals_and_other_types_are_part_of_the_shape() -> None:
    assert (
        post_aggregation_of(member("`a0` + 1 > 5")).shape
        != post_aggregation_of(member("`a0` + 2 > 5")).shape
    )
    assert (
        post_aggregation_of(member("`a0` > 5")).shape
        != post_aggregation_of(member("`a0` > 5.0")).shape
    )
    assert (
        post_aggregation_of(member("`a0` > 5")).shape
        != post_aggregation_of(member("`a0` >= 5")).shape
    )


def test_a_shape_reads_partials_and_carries_its_member() -> None:
    sql = readable(post_aggregation_of(member("`a0` > 5")).shape.sql("closed"))
    assert sql.startswith("SELECT m, `k0`, `l` FROM (SELECT m, c0, c1, ")
    assert "(`a0` > `c0`)" in sql or "(`a0` > c0)" in sql
