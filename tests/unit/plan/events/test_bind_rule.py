"""What an INSERT's values are stored as: by name, and only where nothing is guessed."""

import pytest

from penstock.plan.events.bind_rule import may_become

NUMBERS = ("tinyint", "int", "bigint", "double", "decimal(10,2)")
TIMES = ("date", "timestamp", "timestamp_ntz")


@pytest.mark.parametrize("family", [NUMBERS, TIMES, ("string", "varchar(3)"), ("boolean",)])
def test_types_of_one_family_become_each_other_and_text(family: tuple[str, ...]) -> None:
    for found in family:
        assert all(may_become(found, wanted) for wanted in family)
        assert may_become(found, "string")
        assert may_become("void", found)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ("string", "int"),
        ("string", "timestamp"),
        ("string", "boolean"),
        ("int", "boolean"),
        ("boolean", "int"),
        ("int", "timestamp"),
        ("timestamp", "bigint"),
        ("binary", "string"),
        ("string", "binary"),
    ],
)
def test_types_of_two_families_need_a_cast(found: str, wanted: str) -> None:
    assert not may_become(found, wanted)
