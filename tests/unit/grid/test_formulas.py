"""Formulas mean what SQL means: NULL is unknown, and what is no number is NULL."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.grid.functions.formulas import KERNELS, evaluated
from penstock.model.grids import VALUE, Constant, Formula, Operation, substituted
from tests.unit.grid.fields import formulas, values

NULL = Constant(None)


def value_of(formula: Formula, value: float | None = None) -> float | None:
    found = evaluated(formula, {"value": np.array([np.nan if value is None else value])})[0]
    return None if np.isnan(found) else float(found)


def call(name: str, *arguments: float | None) -> float | None:
    return value_of(Operation(name, tuple(Constant(each) for each in arguments)))


@pytest.mark.parametrize("a", [1.0, 0.0, None])
@pytest.mark.parametrize("b", [1.0, 0.0, None])
def test_truth_has_three_values(a: float | None, b: float | None) -> None:
    both = 0.0 if 0.0 in (a, b) else None if None in (a, b) else 1.0
    one = 1.0 if 1.0 in (a, b) else None if None in (a, b) else 0.0
    assert call("and", a, b) == both
    assert call("or", a, b) == one
    assert call("not", a) == (None if a is None else 1 - a)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("/", (1.0, 0.0), None),
        ("/", (3.0, 2.0), 1.5),
        ("%", (-7.0, 3.0), -1.0),
        ("ln", (0.0,), None),
        ("sqrt", (-1.0,), None),
        ("exp", (1000.0,), None),
        ("round", (2.5,), 3.0),
        ("round", (-2.5,), -3.0),
        ("=", (None, None), None),
        ("is null", (None,), 1.0),
        ("coalesce", (None, None, 3.0), 3.0),
        ("nullif", (2.0, 2.0), None),
        ("nullif", (2.0, None), 2.0),
        ("least", (None, 2.0, 1.0), 1.0),
        ("case", (None, 1.0, 1.0, 2.0, 3.0), 2.0),
        ("case", (0.0, 1.0, None), None),
    ],
)
def test_an_operation_is_that_of_sql(
    name: str, arguments: tuple[float | None, ...], expected: float | None
) -> None:
    assert call(name, *arguments) == expected


@given(formulas(), formulas(), values() | st.none())
def test_a_formula_in_another_gives_what_one_after_the_other_gives(
    first: Formula, second: Formula, value: float | None
) -> None:
    composed = substituted(second, {"value": first})
    assert value_of(composed, value) == value_of(second, value_of(first, value))


def test_no_operation_has_a_result_that_is_no_number() -> None:
    for name in KERNELS:
        for given_ in (0.0, -1.0, 1e308, None):
            arity = 3 if name == "case" else 2
            try:
                found = call(name, *[given_] * arity)
            except TypeError:
                found = call(name, given_)
            assert found is None or np.isfinite(found)


def test_null_stands_for_itself() -> None:
    assert value_of(NULL, 1.0) is None
    assert value_of(VALUE, 1.0) == 1.0
