"""The fuzzer's drawings: every seed gives a case, the same one each time."""

import random

import pytest
import sqlglot

from penstock.plan.operators import EventTime, Scan, table_view
from penstock.plan.relations.sources import Source, StreamSource, TableSource
from tests.fuzz.case import QUERIES, Relation, draw_case
from tests.fuzz.columns import (
    FAMILIES,
    NUMBERS,
    Field,
    digits,
    draw_literal,
    draw_value,
    sum_type,
)
from tests.fuzz.expressions import Expressions, Ref
from tests.unit.plan.twin import TwinAnalyst, World

SEEDS = 60
BOUND = 20  # binding takes longer than drawing
DRAWS = 200


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_seed_draws_a_case(seed: int) -> None:
    case = draw_case(str(seed))
    assert len(case.queries) == QUERIES
    for relation in (*case.streams, case.table):
        assert all(len(row) == len(relation.fields) for row in relation.rows)


@pytest.mark.parametrize("seed", range(BOUND))
def test_the_planner_takes_what_is_drawn(seed: int) -> None:
    case = draw_case(f"bound {seed}")
    world = World()
    world.known = {each.name.lower(): _source(each) for each in (*case.streams, case.table)}
    world.analyst = TwinAnalyst({table_view(case.table.name, 1): case.table.schema})
    for query in case.queries:  # what Spark takes is no error of ours
        world.name(query.name.lower(), query.stream)


def _source(relation: Relation) -> Source:
    if not relation.time:
        return TableSource(relation.name, 1, relation.schema)
    return StreamSource(Scan(relation.name, 1, relation.schema, (EventTime(relation.time),)))


def test_a_case_depends_on_its_seed_alone() -> None:
    assert repr(draw_case("again")) == repr(draw_case("again"))
    assert repr(draw_case("again")) != repr(draw_case("another"))


@pytest.mark.parametrize("type_", FAMILIES)
def test_what_an_aggregate_gives_can_be_compared_with_a_literal(type_: str) -> None:
    field = Field("x", type_, FAMILIES[type_], calm=True)
    for seed in range(DRAWS):
        chance = random.Random(seed)
        _, of = Expressions(chance, [Ref("x", field)], time="ts").aggregate()
        sqlglot.parse_one(f"SELECT {draw_literal(chance, of)}", read="spark")


@pytest.mark.parametrize("type_", [each for each in FAMILIES if FAMILIES[each] == "decimal"])
def test_a_decimal_column_holds_values_of_its_scale(type_: str) -> None:
    precision, scale = digits(type_)
    for calm in (True, False):
        field, chance = Field("x", type_, "decimal", calm), random.Random(0)
        known = [value for _ in range(DRAWS) if (value := draw_value(chance, field)) is not None]
        assert all(value.copy_abs() < 10 ** (precision - scale) for value in known)
        assert all(value.as_tuple().exponent == -scale for value in known)


def test_sums_have_the_types_that_spark_gives_them() -> None:
    numbers = [each for each in FAMILIES if FAMILIES[each] in NUMBERS]
    given = {each: sum_type(Field("x", each, FAMILIES[each], calm=True)) for each in numbers}
    assert given == {
        "TINYINT": "BIGINT",
        "SMALLINT": "BIGINT",
        "INT": "BIGINT",
        "BIGINT": "BIGINT",
        "DECIMAL(10,2)": "DECIMAL(20,2)",
        "DECIMAL(38,0)": "DECIMAL(38,0)",
        "DECIMAL(6,6)": "DECIMAL(16,6)",
        "DOUBLE": "DOUBLE",
        "FLOAT": "DOUBLE",
    }
