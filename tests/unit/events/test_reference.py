"""The page that defines operators and modes says what the detector does."""

import pytest

from penstock.model.events import Mode
from tests.unit.events.textbook import EXPRESSIONS, PAGE, Example, answered, examples

SHORT = {"a OR b", "a SEQ (b SEQ c)", "NOT(b)[a, a PLUS 3 seconds]"}
EXAMPLES = examples(PAGE.read_text())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: f"{each.expression} {each.row}")
def test_an_example_of_the_page_is_true(example: Example) -> None:
    assert answered(example) == example.answer


def test_every_kind_of_expression_has_all_six_answers() -> None:
    for expression in EXPRESSIONS:
        rows = {each.row for each in EXAMPLES if each.expression == expression}
        if expression not in SHORT:
            assert rows >= {str(mode) for mode in Mode}
        assert rows
