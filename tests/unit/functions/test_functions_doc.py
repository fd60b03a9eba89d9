import doctest
import re
from pathlib import Path

import pytest

from penstock.functions import BRANCH
from penstock.functions.flows.resolution import TEMPLATES
from penstock.functions.library.registry import BUILT_IN

PAGE = Path(__file__).parents[3] / "docs/reference/functions.md"
TEXT = PAGE.read_text()


def test_the_examples_say_what_happens() -> None:
    plain = re.sub(r"^```.*$", "", TEXT, flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(plain, {}, "functions.md", str(PAGE), 0)
    assert len(test.examples) > 30
    told: list[str] = []
    doctest.DocTestRunner().run(test, out=told.append)
    assert not told, "".join(told)


@pytest.mark.parametrize("function", BUILT_IN, ids=lambda each: each.name)
def test_every_built_in_function_is_told_with_its_parameters(function) -> None:
    usage = function.usage().removesuffix("()")
    assert f"| `{usage}` |" in TEXT


def test_every_template_is_told() -> None:
    told = set(re.findall(r"^\| `(\w+)\(n?", TEXT, re.MULTILINE))
    assert set(TEMPLATES) <= told
    assert BRANCH == "#"
