from penstock.server.page.examples import EXAMPLES
from penstock.sql import parse


def test_every_example_is_sql_that_penstock_parses() -> None:
    assert all(parse(each.sql) for each in EXAMPLES)


def test_one_example_is_the_demo_s_scene() -> None:
    (demo,) = [each for each in EXAMPLES if each.demo]
    assert "CREATE STREAM cars" in demo.sql
    assert len({each.title for each in EXAMPLES}) == len(EXAMPLES)
