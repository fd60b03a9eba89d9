"""Plain steps: what Arrow may answer, and what only Spark does."""

import pytest

from penstock.model.schema import Column, Schema
from penstock.plan.operators import Filter, Project, Scan
from penstock.plan.sharing.plain_steps import PickColumns, PickRows, PlainColumn, plain_steps
from penstock.plan.sharing.units import Unit

SCHEMA = Schema((Column("n", "bigint"), Column("v", "double"), Column("k", "string")))
SCAN = Scan("s", 1, SCHEMA)


def _unit(conditions: list[str], value: str, name: str = "w") -> Unit:
    schema = Schema((Column("n", "bigint"), Column(name, "double")))
    filtered = Filter(SCAN, tuple(conditions))
    return Unit(Project(filtered, (("n", "`n`"), (name, value)), schema), (SCAN,))


def test_conditions_on_one_column_are_one_and_columns_keep_their_order() -> None:
    steps = plain_steps(_unit(["`v` > 0", "`v` < 5"], "`V` * 2"))
    assert steps is not None
    rows, columns = steps
    assert isinstance(rows, PickRows)
    assert [each[0] for each in rows.asked] == ["v"]
    assert columns == PickColumns((PlainColumn("n", "n"), PlainColumn("w", "v", "multiply", 2.0)))


def test_two_columns_of_one_name_are_left_to_spark() -> None:
    assert plain_steps(_unit(["`v` > 0"], "`v`", name="N")) is None


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("`n` / 0 > 1", "`v`"),
        ("upper(`k`) = 'A'", "`v`"),
        ("`k` > 5", "`v`"),
        ("`v` > 0", "`n` + 1"),
        ("`v` > 0", "`v` / 2"),
        ("`v` > 0", "`v` * 3000000000"),
    ],
)
def test_what_is_not_known_to_be_equal_is_left_to_spark(condition: str, value: str) -> None:
    assert plain_steps(_unit([condition], value)) is None
