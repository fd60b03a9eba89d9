"""What members ask: spans of one column, or a claim."""

import pytest

from penstock.plan.operators.bundles.member import member_of
from tests.unit.plan.bundles.queries import SCAN, aggregate, kept


@pytest.mark.parametrize(
    ("text", "columns", "predicates"),
    [
        ("`x` > 1", ("x",), 0),
        ("`x` > 1 AND `x` < 3", ("x",), 0),
        ("`x` > 3 AND `x` < 1", (), 1),
        ("`x` > 1 AND `k` = 'a'", (), 1),
        ("`x` * 2 > 1", (), 1),
    ],
)
def test_conditions_on_one_column_are_spans_and_others_one_claim(
    text: str, columns: tuple[str, ...], predicates: int
) -> None:
    member = member_of(aggregate(kept(SCAN, text)))
    assert member is not None
    assert member.asked.columns == columns
    assert len(member.asked.predicates) == predicates
