"""Formulas over whole arrays, as SQL means them: NULL is NaN, and so is what is no number.

Truth is 1, 0 or NaN (unknown). Every operation whose result is not finite gives NULL, as a division
by zero does, so that formulas put into each other give what they give one after the other.
"""

from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np

from penstock.grid.space.cells import Floats
from penstock.model.grids import Constant, Formula, Operation, Variable

Kernel = Callable[..., Floats]


def evaluated(formula: Formula, values: Mapping[str, Floats]) -> Floats:
    """Return the formula's value for each place of the arrays, which are of one length."""
    length = len(next(iter(values.values())))
    with np.errstate(all="ignore"):
        return np.broadcast_to(_value(formula, values), (length,)).astype(np.float64)


def _value(formula: Formula, values: Mapping[str, Floats]) -> Floats:
    match formula:
        case Constant(value=value):
            return np.float64(np.nan if value is None else value)  # type: ignore[return-value]
        case Variable(name=name):
            return values[name]
        case Operation(name=name, arguments=arguments):
            result = KERNELS[name](*(_value(each, values) for each in arguments))
            return np.where(np.isfinite(result), result, np.nan)


def _known(test: Callable[[Floats, Floats], np.ndarray]) -> Kernel:
    """Return a comparison: unknown where one side is."""

    def compared(a: Floats, b: Floats) -> Floats:
        return np.where(np.isnan(a) | np.isnan(b), np.nan, test(a, b))

    return compared


def _and(a: Floats, b: Floats) -> Floats:
    return np.where((a == 0) | (b == 0), 0.0, np.where((a != 0) & (b != 0), a * b, np.nan))


def _or(a: Floats, b: Floats) -> Floats:
    return 1.0 - _and(1.0 - a, 1.0 - b)


def _case(*arguments: Floats) -> Floats:
    """Return the value behind the first condition that holds, or the last argument."""
    *whens, otherwise = arguments
    result = otherwise
    for condition, value in zip(reversed(whens[::2]), reversed(whens[1::2]), strict=True):
        result = np.where(condition == 1, value, result)
    return result


def _coalesce(*arguments: Floats) -> Floats:
    return reduce(lambda a, b: np.where(np.isnan(a), b, a), arguments)


def _round(a: Floats) -> Floats:
    """Round half away from zero, as SQL does."""
    return np.trunc(a + np.copysign(0.5, a))


KERNELS: dict[str, Kernel] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
    "negative": np.negative,
    "=": _known(np.equal),
    "<>": _known(np.not_equal),
    "<": _known(np.less),
    "<=": _known(np.less_equal),
    ">": _known(np.greater),
    ">=": _known(np.greater_equal),
    "and": _and,
    "or": _or,
    "not": lambda a: 1.0 - a,
    "is null": lambda a: np.isnan(a).astype(np.float64),
    "case": _case,
    "coalesce": _coalesce,
    "nullif": lambda a, b: np.where(a == b, np.nan, a),
    "abs": np.abs,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "ln": np.log,
    "log10": np.log10,
    "power": np.power,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": _round,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "atan2": np.arctan2,
    "radians": np.radians,
    "degrees": np.degrees,
    "least": lambda *each: reduce(np.fmin, each),
    "greatest": lambda *each: reduce(np.fmax, each),
}
