import pytest

from penstock.errors import SqlError
from penstock.sql import OptimizeQuery, parse


def test_a_query_is_named() -> None:
    (statement,) = parse("optimize query `my spectra`;")
    assert isinstance(statement, OptimizeQuery)
    assert statement.name == "my spectra"


@pytest.mark.parametrize("text", ["OPTIMIZE", "OPTIMIZE QUERY", "OPTIMIZE q", "OPTIMIZE QUERY a b"])
def test_anything_else_is_told_with_its_place(text: str) -> None:
    with pytest.raises(SqlError) as raised:
        parse(text)
    assert raised.value.place is not None
