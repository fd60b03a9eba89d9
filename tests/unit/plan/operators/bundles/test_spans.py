"""Conditions as spans, buckets and nodes, against the conditions themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.schema import Column, Schema
from penstock.plan.operators.bundles.spans import EVERYTHING, Span, both, condition_of
from penstock.plan.sharing.buckets import Buckets, buckets_of

SCHEMA = Schema((Column("n", "int"), Column("x", "double"), Column("t", "string")))
NUMBERS = st.integers(-6, 6)


@st.composite
def conditions(draw: st.DrawFn) -> tuple[str, object]:
    """Return a condition on n, and the same in Python."""
    low, high = draw(NUMBERS), draw(NUMBERS)
    some = draw(st.lists(NUMBERS, min_size=1, max_size=4))
    return draw(
        st.sampled_from(
            (
                (f"`n` > {low}", lambda n: n > low),
                (f"`n` >= {low}", lambda n: n >= low),
                (f"{low} > `n`", lambda n: n < low),
                (f"(`n` <= {low})", lambda n: n <= low),
                (f"`n` = {low}", lambda n: n == low),
                (f"`n` <> {low}", lambda n: n != low),
                (f"`n` BETWEEN {low} AND {high}", lambda n: low <= n <= high),
                (f"`n` IN ({', '.join(map(str, some))})", lambda n: n in some),
            )
        )
    )


def spans_of(text: str) -> tuple[Span, ...]:
    found = condition_of(text, SCHEMA)
    assert found is not None
    return found.spans


def bucket_of(buckets: Buckets, value: int) -> int:
    """Return the bucket by counting cuts, as the SQL does by searching."""
    return sum(1 for cut, side in buckets.cuts if cut < value or (cut == value and side == 0))


@given(st.lists(conditions(), min_size=1, max_size=5), st.integers(-8, 8))
def test_a_value_is_let_through_where_its_bucket_is(
    given_: list[tuple[str, object]], value: int
) -> None:
    asked = [spans_of(text) for text, _ in given_]
    buckets = buckets_of("n", "bigint", [span for spans in asked for span in spans])
    number = bucket_of(buckets, value)
    for spans, (_, holds) in zip(asked, given_, strict=True):
        ranges = [buckets.numbers(span) for span in spans]
        assert any(low <= number <= high for low, high in ranges) == holds(value)
        nodes = [node for each in ranges for node in buckets.nodes(each)]
        under = sorted(bucket for node in nodes for bucket in buckets.under(node))
        assert under == sorted({n for low, high in ranges for n in range(low, high + 1)})


@given(conditions(), conditions(), st.integers(-8, 8))
def test_both_conditions_hold_where_their_common_spans_are(
    one: tuple[str, object], other: tuple[str, object], value: int
) -> None:
    spans = both(spans_of(one[0]), spans_of(other[0]))
    buckets = buckets_of("n", "bigint", spans)
    number = bucket_of(buckets, value)
    hits = [low <= number <= high for low, high in map(buckets.numbers, spans)]
    assert sum(hits) == int(one[1](value) and other[1](value))


@given(
    st.lists(conditions(), max_size=4),
    st.lists(conditions(), min_size=1, max_size=3),
    st.lists(conditions(), max_size=4),
    st.integers(-8, 8),
)
def test_buckets_keep_their_side_of_the_cuts_that_stay(
    gone: list[tuple[str, object]],
    staying: list[tuple[str, object]],
    come: list[tuple[str, object]],
    value: int,
) -> None:
    def buckets(of: list[tuple[str, object]]) -> Buckets:
        return buckets_of("n", "bigint", [span for text, _ in of for span in spans_of(text)])

    old, new = buckets([*gone, *staying]), buckets([*staying, *come])
    moved = old.moved_to(new)[bucket_of(old, value)]
    for text, holds in staying:
        ranges = [new.numbers(span) for span in spans_of(text)]
        assert any(low <= moved <= high for low, high in ranges) == holds(value)


@pytest.mark.parametrize(
    "text",
    [
        "`n` > 1.5",
        "`n` > 9223372036854775808",
        "`x` + 1 > 2",
        "`n` = `x`",
        "`t` > 5",
        "`missing` > 5",
        "`t` LIKE 'a%'",
        "NOT (`n` = 3)",
        "`n` IN (1, NULL)",
        "`n` > -'3'",
    ],
)
def test_what_needs_spark_to_compare_is_no_span(text: str) -> None:
    assert condition_of(text, SCHEMA) is None


def test_columns_compare_with_literals_of_their_kind() -> None:
    assert spans_of("`x` > -0.5") == (((-0.5, 1), None),)
    assert spans_of("`x` <= 3") == ((None, (3.0, 1)),)
    assert spans_of("`t` = 'it\\'s'") == ((("it's", 0), ("it's", 1)),)
    assert spans_of("`n` BETWEEN 3 AND 2") == ()
    assert both(EVERYTHING, EVERYTHING) == EVERYTHING
