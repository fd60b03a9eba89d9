import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadOptionError, UnknownOptionError
from penstock.model.definitions import Expression
from penstock.schedule import STRATEGIES, Choice
from penstock.schedule.batching import BATCHINGS
from penstock.schedule.choice import choice_of, make
from penstock.sql import SetDecider, parse


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_is_made_by_its_name(name: str) -> None:
    assert isinstance(make(STRATEGIES, "strategy", Choice(name)), STRATEGIES[name])


@given(
    st.sampled_from(["simplified_segment", "optprofit", "pcs", "adaptive"]),
    st.dictionaries(st.sampled_from(["gamma", "u"]), st.integers(1, 999).map(lambda n: n / 1000)),
)
def test_what_a_choice_says_reads_as_the_same_choice(
    name: str, parameters: dict[str, float]
) -> None:
    choice = Choice(name, tuple(parameters.items()))
    (statement,) = parse(f"SET STRATEGY {choice.text()}")
    assert isinstance(statement, SetDecider)
    assert choice_of(statement.name, statement.options) == choice


def test_words_need_no_quotes_and_lengths_of_time_are_seconds() -> None:
    (statement,) = parse(
        "SET STRATEGY adaptive WITH (objective => memory, period => INTERVAL 2 SECONDS)"
    )
    assert isinstance(statement, SetDecider)
    chosen = choice_of(statement.name, statement.options)
    assert chosen.parameters == (("objective", "memory"), ("period", 2.0))


@pytest.mark.parametrize("value", [True, Expression("1 + 1"), Expression("a.b")])
def test_what_is_neither_number_nor_word_is_refused(value: bool | Expression) -> None:
    with pytest.raises(BadOptionError):
        choice_of("pcs", [("gamma", value)])


def test_a_rule_that_lacks_what_it_needs_is_told() -> None:
    with pytest.raises(BadOptionError, match="rows"):
        make(BATCHINGS, "batching", Choice("fixed_length"))
    with pytest.raises(UnknownOptionError) as raised:
        make(BATCHINGS, "batching", Choice("huge"))
    assert "intelligent" in raised.value.hint
