"""Aggregates over a window's values in order; None is NULL, which they pass over as Spark does."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

Values = list[Any]


def count(values: Values) -> int:
    """Return how many values there are."""
    return len(known(values))


def count_distinct(values: Values) -> int:
    """Return how many different values there are."""
    return len(collect_set(values))


def total(values: Values) -> Any:
    """Return the sum."""
    return sum(known(values)) if known(values) else None


def total_distinct(values: Values) -> Any:
    """Return the sum of the different values."""
    return total(list(collect_set(values)))


def avg(values: Values) -> Any:
    """Return the mean; that of decimals has four more digits, rounded half up, as in Spark."""
    found = known(values)
    if not found:
        return None
    mean: Any = sum(found) / len(found)
    if not isinstance(mean, Decimal):
        return mean
    digits = max(-int(each.as_tuple().exponent) for each in found) + 4
    return mean.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def least(values: Values) -> Any:
    """Return the minimum."""
    return min(known(values), default=None)


def most(values: Values) -> Any:
    """Return the maximum."""
    return max(known(values), default=None)


def median(values: Values) -> float | None:
    """Return the value in the middle, or the mean of the two."""
    return percentile(values, 0.5)


def percentile(values: Values, share: float) -> float | None:
    """Return the value at `share` of the way from least to most, between neighbours linearly."""
    found = sorted(known(values))
    if not found:
        return None
    place = share * (len(found) - 1)
    below = int(place)
    above = min(below + 1, len(found) - 1)
    return float(found[below] + (place - below) * (found[above] - found[below]))


def collect_list(values: Values) -> Values:
    """Return the values in order."""
    return known(values)


def collect_set(values: Values) -> set[Any]:
    """Return the different values."""
    return set(known(values))


def first(values: Values, times: list[Any]) -> Any:
    """Return the value of the earliest time; of several the least, NULL before all (0004)."""
    return min_by(values, times)


def last(values: Values, times: list[Any]) -> Any:
    """Return the value of the latest time; of several the greatest, NULL before all (0004)."""
    return max_by(values, times)


def min_by(values: Values, keys: Values) -> Any:
    """Return the value of the least key that is not NULL; of several the least value."""
    return _by(values, keys)[0]


def max_by(values: Values, keys: Values) -> Any:
    """Return the value of the greatest key that is not NULL; of several the greatest value."""
    return _by(values, keys)[-1]


def top(values: Values, size: int) -> Values:
    """Return the `size` greatest values, the greatest first, equal ones each for itself."""
    return sorted(known(values), reverse=True)[:size]


def distinct(values: Values) -> Values:
    """Return each value once, NULL as well, where it first stands."""
    return list(dict.fromkeys(values))


def known(values: Values) -> Values:
    """Return the values that are not NULL."""
    return [value for value in values if value is not None]


def _by(values: Values, keys: Values) -> Values:
    """Return the values from the least key to the greatest, NULL values before others."""
    pairs = [pair for pair in zip(keys, values, strict=True) if pair[0] is not None]
    found = sorted(pairs, key=lambda pair: (pair[0], pair[1] is not None, _or_zero(pair[1])))
    return [value for _, value in found] or [None]


def _or_zero(value: Any) -> Any:
    # What stands for NULL is compared with another NULL only.
    return 0 if value is None else value
