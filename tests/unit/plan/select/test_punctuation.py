from collections.abc import Mapping

import pytest

from penstock.errors import PenstockError
from penstock.model.schema import Column, Schema
from penstock.plan.operators import Operator, key
from penstock.plan.operators.graph import Graph
from penstock.plan.relations.sources import NOTHING, Analyst
from penstock.plan.select.punctuation import bind_punctuation, carried, over_groups, renamed
from penstock.plan.sharing.units import Unit, cut_at_shared
from penstock.sql import Punctuate, parse
from tests.unit.plan.twin import TRAFFIC, bind


class Answer(Analyst):
    """An analyst that finds one type in everything."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def schema(
        self, sql: str, leaves: Mapping[str, Schema], meant: Mapping[str, str] = NOTHING
    ) -> Schema:
        return Schema((Column("holds", self.kind),))


def bound(condition: str, kind: str = "boolean") -> str:
    (statement,) = parse(f"PUNCTUATE traffic WHERE {condition}")
    assert isinstance(statement, Punctuate)
    return bind_punctuation(TRAFFIC, statement.condition, Answer(kind))


def unit_of(root: Operator) -> Unit:
    (unit,) = cut_at_shared(Graph({"q": root}))
    return unit


def test_a_condition_is_written_over_the_streams_own_columns() -> None:
    assert bound("CAR_ID = 'x' AND traffic.mph > 3") == "`car_id` = 'x' AND `mph` > 3"


@pytest.mark.parametrize(
    ("condition", "kind", "code"),
    [
        ("car = 'x'", "boolean", "UNKNOWN_COLUMN"),
        ("other.mph = 1", "boolean", "UNKNOWN_COLUMN"),
        ("mph + 1", "int", "TYPE_MISMATCH"),
    ],
)
def test_what_is_no_condition_on_the_stream_is_told(condition: str, kind: str, code: str) -> None:
    with pytest.raises(PenstockError) as refused:
        bound(condition, kind)
    assert refused.value.code == code
    assert refused.value.hint
    assert refused.value.place is not None


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("SELECT * FROM traffic WHERE mph > 3", "`car_id` = 'x'"),
        ("SELECT ts, car_id AS car FROM traffic", "`car` = 'x'"),
        ("SELECT ts, upper(car_id) AS car_id FROM traffic", ""),
        ("SELECT ts, mph FROM traffic", ""),
        ("SELECT t.car_id, r.name FROM traffic t JOIN roads r ON t.mph = r.mph", "`car_id` = 'x'"),
        ("SELECT car_id FROM traffic UNION ALL SELECT car_id FROM sensors", ""),
    ],
)
def test_it_is_carried_as_far_as_its_columns_go(select: str, expected: str) -> None:
    assert carried(bind(select), {key(TRAFFIC): "`car_id` = 'x'"}) == expected


@pytest.mark.parametrize(
    ("condition", "names", "expected"),
    [
        ("`a` = 'b' AND `A` > 1", {"a": "b"}, "`b` = 'b' AND `b` > 1"),
        ("`a`.x = 1", {"a": "b"}, "`b`.x = 1"),
        ("`a` = 1 AND `c` = 2", {"a": "b"}, ""),
        ("TRUE", {}, "TRUE"),
        ("", {}, ""),
    ],
)
def test_columns_get_other_names_or_none(
    condition: str, names: dict[str, str], expected: str
) -> None:
    assert renamed(condition, names) == expected


@pytest.mark.parametrize(
    ("select", "closes"),
    [
        ("SELECT car_id, count(*) AS c FROM traffic [RANGE 10 SECONDS] GROUP BY car_id", True),
        (
            "SELECT car_id, kind, count(*) AS c FROM traffic [RANGE 10 SECONDS SLIDE 5 SECONDS] "
            "GROUP BY car_id, kind HAVING count(*) > 1",
            True,
        ),
        ("SELECT kind, count(*) AS c FROM traffic [RANGE 10 SECONDS] GROUP BY kind", False),
        ("SELECT count(*) AS c FROM traffic [RANGE 10 SECONDS]", False),
        (
            "SELECT upper(car_id) AS k, count(*) AS c FROM traffic [RANGE 10 SECONDS] "
            "GROUP BY upper(car_id)",
            False,
        ),
        (
            "SELECT car_id, count(*) AS c FROM traffic "
            "[LANDMARK FROM TIMESTAMP '2026-01-01' EVERY 1 HOUR] GROUP BY car_id",
            False,
        ),
        (
            "SELECT car_id, count(*) AS c FROM traffic [RANGE 10 SECONDS] GROUP BY car_id "
            "ORDER BY c LIMIT 1",
            False,
        ),
    ],
)
def test_windows_of_groups_inside_a_condition_may_close(select: str, closes: bool) -> None:
    unit = unit_of(bind(select))
    aggregate = unit.aggregate
    assert aggregate is not None
    found = over_groups(unit, carried(aggregate.input, {key(TRAFFIC): "`car_id` = 'x'"}))
    assert bool(found) is closes
    if found:
        assert any(name in found for name, _ in aggregate.keys)
