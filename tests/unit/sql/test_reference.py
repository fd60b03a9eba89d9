import re
from pathlib import Path

import pytest

from penstock.sql import parse

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "sql.md"
EXAMPLES = re.findall(r"```sql\n(.*?)```", REFERENCE.read_text(), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_the_reference_parses(example: str) -> None:
    assert parse(example)


def test_every_link_of_the_reference_has_its_heading() -> None:
    text = REFERENCE.read_text()
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^a-z -]", "", one.lower()).replace(" ", "-") for one in headings}
    assert set(re.findall(r"\]\(#([a-z-]+)\)", text)) <= anchors
