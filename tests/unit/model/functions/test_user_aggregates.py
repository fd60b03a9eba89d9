import pytest

import penstock
from penstock.errors import BadOptionError
from penstock.model.functions.user_aggregates import UserAggregate


def made(name: str = "total", takes: tuple[str, ...] = ("double",)) -> UserAggregate:
    return UserAggregate(
        name,
        init=float,
        update=lambda state, values: state + sum(values.to_pylist()),
        merge=float.__add__,
        finish=float,
        takes=takes,
        state="double",
        returns="double",
    )


def test_its_parts_have_names_of_their_own() -> None:
    assert penstock.UserAggregate is UserAggregate
    assert made("Total").part("update") == "_penstock_total_update"


@pytest.mark.parametrize("name", ["", "geo mean", "1st", "größe"])
def test_a_name_that_sql_cannot_call_is_refused(name: str) -> None:
    with pytest.raises(BadOptionError):
        made(name)


def test_an_aggregate_of_nothing_is_refused() -> None:
    with pytest.raises(BadOptionError):
        made(takes=())
