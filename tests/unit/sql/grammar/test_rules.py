"""Rules as text: what is wrong is told where it stands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.model.rules import Coupling, Insert
from penstock.sql import CreateRule, parse


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("CREATE RULE r ON e", "SQL_SYNTAX", 19),
        ("CREATE RULE r DO CALL f", "SQL_SYNTAX", 15),
        ("CREATE RULE r ON e WHEN sum(a) > 2 DO CALL f", "BAD_QUERY", 25),
        ("CREATE RULE r PRIORITY 10 ON e DO CALL f", "SQL_SYNTAX", 24),
        ("CREATE RULE r PRIORITY -1 ON e DO CALL f", "SQL_SYNTAX", 24),
        ("CREATE RULE r COUPLING slow ON e DO CALL f", "SQL_SYNTAX", 24),
        ("CREATE RULE r CONTEXT odd ON e DO CALL f", "SQL_SYNTAX", 23),
        ("CREATE RULE r PRIORITY 1 PRIORITY 2 ON e DO CALL f", "SQL_SYNTAX", 26),
        ("CREATE RULE r ON e DO webhok(url => 'x')", "SQL_SYNTAX", 23),
        ("CREATE RULE r ON e DO CALL f WITH (rat => 1)", "UNKNOWN_OPTION", 35),
        ("CREATE RULE r ON e DO CALL f WITH (rate => 0)", "BAD_OPTION", 35),
        ("CREATE RULE r ON e DO CALL f WITH (timeout => 3)", "BAD_OPTION", 35),
        ("CREATE RULE r ON e DO CALL f WITH (retries => 101)", "BAD_OPTION", 35),
        ("CREATE RULE r ON e DO CALL f g", "SQL_SYNTAX", 30),
        ("CREATE RULE r ON e DO INSERT INTO x SELECT a FROM b", "SQL_SYNTAX", 46),
        ("CREATE RULE r ON e DO INSERT INTO x SELECT (SELECT 1)", "BAD_QUERY", 44),
        ("CREATE RULE r ON e DO INSERT INTO x (a) SELECT a, b", "SQL_SYNTAX", 52),
        ("CREATE RULE r ON e DO RAISE x", "SQL_SYNTAX", 30),
        ("ALTER RULE r", "SQL_SYNTAX", 13),
        ("ALTER STREAM s", "SQL_SYNTAX", 7),
        ("ALTER QUERY q (weight => 2)", "SQL_SYNTAX", 15),
        ("ALTER QUERY q SET ()", "BAD_OPTION", 19),
        ("ALTER QUERY q SET (wait => 2)", "UNKNOWN_OPTION", 20),
        ("ALTER QUERY q SET (weight => 0)", "BAD_OPTION", 20),
        ("ALTER QUERY q SET (weight => 1, weight => 2)", "BAD_OPTION", 33),
        ("ALTER QUERY q SET (max_latency => 2)", "BAD_OPTION", 20),
        ("ALTER QUERY q SET (priority => 10)", "BAD_OPTION", 20),
        ("ALTER QUERY q SET (join => 'reuse')", "BAD_OPTION", 20),
        ("CREATE RULE r ON e DO ALTER QUERY q SET (weight => -1)", "BAD_OPTION", 42),
        ("RETRY r", "SQL_SYNTAX", 7),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, code: str, column: int) -> None:
    with pytest.raises(PenstockError) as caught:
        parse(text)
    assert caught.value.code == code
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (1, column)


ACTIONS = st.sampled_from(
    [
        "INSERT INTO a SELECT x, call, raise, stop",
        "INSERT INTO b (p) SELECT concat('DO', x)",
        "RAISE c(x, y + 1)",
        "CALL f",
        "START QUERY q",
        "STOP QUERY q",
        "ALTER RULE r ENABLE",
        "ALTER QUERY q SET (weight => 2, max_latency => NULL)",
        "webhook(url => 'http://h/')",
        "command(program => '/p')",
    ]
)


@given(
    st.lists(ACTIONS, min_size=1, max_size=5),
    st.sampled_from(list(Coupling)),
    st.integers(0, 9),
)
def test_any_actions_in_any_order_are_read_each_as_if_it_stood_alone(
    actions: list[str], coupling: Coupling, priority: int
) -> None:
    text = f"CREATE RULE r COUPLING {coupling} PRIORITY {priority} ON e WHEN a = 1 DO "
    (rule,) = parse(text + ", ".join(actions))
    alone = [parse(f"CREATE RULE r ON e DO {each}")[0] for each in actions]
    assert isinstance(rule, CreateRule)
    assert rule.definition.coupling is coupling
    assert rule.definition.priority == priority
    assert rule.definition.condition == "a = 1"
    expected = [each.definition.actions[0] for each in alone if isinstance(each, CreateRule)]
    assert list(rule.definition.actions) == expected
    values = [len(each.values) for each in expected if isinstance(each, Insert)]
    assert [len(trees) for trees in rule.values if trees] == values
