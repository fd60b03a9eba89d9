"""Answers that admit it: aggregates of a sample, scaled up, and how wrong they may be.

A tuple that passed gates of which each keeps a share stands for 1/k, k the product of the shares.
Sums of what tuples stand for, and of their variances, add up over panes with different k (Horvitz
and Thompson's estimator for independent draws, with its unbiased variance):

    count  Σ 1/k        v = Σ (1 − k)/k²
    sum    Σ y/k        v = Σ y² (1 − k)/k²
    avg    the ratio    v = Σ (y − avg)² (1 − k)/k² / count²

The error is relative to the truth, at most so much in 95 of 100 answers. For a count the bound is
Wilson's, whose variance is that of the truth and not of the estimate; a sum of values of one sign
has the same form. For few tuples the normal's 1.96 gives way to Student's t. What no sample tells
the error of (min, max, distinct counts, quantiles) has none: NaN, and never a number that means
nothing. Where nothing was dropped the error is zero.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.float64]

Z = 1.959964  # of the normal distribution, for 95 %
FIRST, SECOND = (Z**3 + Z) / 4, (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96  # Cornish and Fisher's, for t
LEAST_ROWS = 2  # of a group: one tuple has no variance
MEANT_ROWS = 8  # of a group that shall be left: with fewer it often would have none, and no row


@dataclass(frozen=True, slots=True, eq=False)
class SampleSums:
    """A column of groups, or of panes: tuples seen, and the sums above. They add up."""

    rows: Column
    count: Column
    total: Column
    count_variance: Column
    covariance: Column
    total_variance: Column

    def __add__(self, other: "SampleSums") -> "SampleSums":
        """Return both samples as one."""
        return SampleSums(
            self.rows + other.rows,
            self.count + other.count,
            self.total + other.total,
            self.count_variance + other.count_variance,
            self.covariance + other.covariance,
            self.total_variance + other.total_variance,
        )

    @property
    def average(self) -> Column:
        """Return the mean; NaN for groups without tuples."""
        return _ratio(self.total, self.count)

    def count_error(self) -> Column:
        """Return the bound of the relative error of a count, NaN where there is none."""
        return self._none_where_unseen(_score(self.count, self.count_variance, Z))

    def sum_error(self) -> Column:
        """Return the bound of the relative error of a sum."""
        return self._none_where_few(
            _score(np.abs(self.total), self.total_variance, _student(self.rows))
        )

    def average_error(self) -> Column:
        """Return the bound of the relative error of a mean."""
        mean = self.average
        spread = self.total_variance - 2 * mean * self.covariance + mean**2 * self.count_variance
        fewer = _ratio(self.rows, np.maximum(1.0, self.rows - 1))  # the mean is of the same sample
        variance = np.maximum(0.0, spread) * fewer
        half = _student(self.rows) * _ratio(np.sqrt(variance), self.count)
        return self._none_where_few(_relative(np.abs(mean), half))

    def _none_where_unseen(self, bound: Column) -> Column:
        return np.where(self.rows > 0, bound, np.nan)

    def _none_where_few(self, bound: Column) -> Column:
        """Say nothing of groups that are too small, unless nothing of them was dropped."""
        whole = self.count_variance == 0
        return np.where(
            whole & (self.rows > 0), 0.0, np.where(self.rows >= LEAST_ROWS, bound, np.nan)
        )


def sampled(rows: Column, total: Column, squares: Column, keep: float | Column) -> SampleSums:
    """Return partials over tuples that passed gates: how many, their sum and sum of squares."""
    more = (1 - np.asarray(keep)) / np.asarray(keep) ** 2
    return SampleSums(rows, rows / keep, total / keep, rows * more, total * more, squares * more)


def least_keep(max_error: float, rows: float, spread: float = 0.0, *, mean: bool = False) -> float:
    """Return the least share of tuples that keeps an aggregate's error in its bound.

    `rows` are those of a group in a window while nothing is dropped, `spread` is the squared
    coefficient of variation of its values. A `mean` does not vary with how many there are.
    """
    if max_error <= 0 or rows <= 0:
        return 1.0
    varies = spread if mean else 1 + spread
    # A bound relative to the truth has to hold at its lower end, which is that much nearer to zero.
    inner = max_error / (1 + max_error)
    needed = Z**2 * varies / (inner**2 * rows)
    enough = min(1.0, MEANT_ROWS / rows)
    return max(enough, needed / (1 + needed))


def _score(estimate: Column, variance: Column, z: float | Column) -> Column:
    """Return the relative error at the lower end of Wilson's interval."""
    spread = np.asarray(z) ** 2 * _ratio(variance, estimate)
    low = estimate + spread / 2 - np.sqrt(spread * estimate + spread**2 / 4)
    bound: Column = _ratio(estimate - low, low)
    return np.where(variance == 0, 0.0, bound)


def _relative(size: Column, half: Column) -> Column:
    """Return how wrong an estimate may be relative to a truth that is at most `half` away."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(half < size, half / (size - half), np.where(half == 0, 0.0, np.inf))


def _student(rows: Column) -> Column:
    """Return the 97.5 % point of Student's t for samples of that size (Cornish and Fisher)."""
    free = np.maximum(1.0, rows - 1)
    return Z + FIRST / free + SECOND / free**2


def _ratio(over: Column, under: Column) -> Column:
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Column = np.where(under != 0, over / under, np.nan)
    return found
