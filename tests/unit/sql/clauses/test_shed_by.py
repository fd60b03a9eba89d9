"""Where SHED BY stands, in a statement anywhere in a script."""

import pytest

from penstock.sql import parse, place_of_shed_by


@pytest.mark.parametrize(
    ("script", "line", "column"),
    [
        ("CREATE QUERY q AS SELECT a FROM s SHED BY a", 1, 35),
        ("SHOW LOAD; CREATE QUERY q AS SELECT a FROM s shed  by a", 1, 46),
        ("SHOW LOAD;\n  CREATE QUERY q AS SELECT a FROM s SHED BY a", 2, 37),
        ("SHOW LOAD;\n  CREATE QUERY q AS SELECT 'SHED BY' AS a\n FROM s\n\tSHED\nBY a", 4, 2),
    ],
)
def test_the_place_of_shed_by_is_found(script: str, line: int, column: int) -> None:
    statement = parse(script)[-1]
    place = place_of_shed_by(statement.text, statement.place)
    assert (place.line, place.column, place.source) == (line, column, script)
