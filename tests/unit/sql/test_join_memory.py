"""SET join_memory."""

import pytest

from penstock.errors import PenstockError
from penstock.sql import SetJoinMemory, parse


@pytest.mark.parametrize(
    ("sql", "size"),
    [
        ("SET join_memory = '64 MB'", 64 << 20),
        ("set JOIN_MEMORY = '1 gb';", 1 << 30),
        ("SET join_memory = NONE", None),
    ],
)
def test_a_size_or_none_is_read(sql: str, size: int | None) -> None:
    (statement,) = parse(sql)
    assert isinstance(statement, SetJoinMemory)
    assert statement.size == size


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SET join_memory = 64", "BAD_OPTION"),
        ("SET join_memory = '64'", "BAD_OPTION"),
        ("SET join_memory = '-1 MB'", "BAD_OPTION"),
        ("SET join_memory = '0 B'", "BAD_OPTION"),
        ("SET join_memory '64 MB'", "SQL_SYNTAX"),
        ("SET join_memory = '64 MB' WITH (a => 1)", "SQL_SYNTAX"),
        ("SET join_memory =", "BAD_OPTION"),
    ],
)
def test_what_is_no_size_is_refused(sql: str, code: str) -> None:
    with pytest.raises(PenstockError) as raised:
        parse(sql)
    assert raised.value.code == code
    assert raised.value.hint
    assert raised.value.place is not None
