"""Answers in SQL: the errors of `answers.py` as Spark SQL expressions, NULL where NaN is there."""

from dataclasses import dataclass

from penstock.qos.answers import FIRST, LEAST_ROWS, SECOND, Z


@dataclass(frozen=True, slots=True)
class SampledSql:
    """The sums of `Sampled`, as expressions of DOUBLE; a partial adds up each of them."""

    rows: str
    count: str
    total: str
    count_variance: str
    covariance: str
    total_variance: str

    @classmethod
    def over(cls, value: str, keep: str) -> "SampledSql":
        """Return the aggregates over tuples that passed gates keeping a share; no value is null."""
        more = f"((1D - {keep}) / ({keep} * {keep}))"
        worth = f"CAST({value} AS DOUBLE)"
        return cls(
            "CAST(count(*) AS DOUBLE)",
            f"sum(1D / {keep})",
            f"sum({worth} / {keep})",
            f"sum({more})",
            f"sum({worth} * {more})",
            f"sum({worth} * {worth} * {more})",
        )

    def count_error(self) -> str:
        """Return the bound of a count's relative error."""
        bound = _score(self.count, self.count_variance, f"{Z}D")
        return f"CASE WHEN {self.rows} > 0D THEN {bound} END"

    def sum_error(self) -> str:
        """Return the bound of a sum's relative error."""
        return self._if_told(_score(f"abs({self.total})", self.total_variance, self._student()))

    def average_error(self) -> str:
        """Return the bound of a mean's relative error."""
        mean = f"({self.total} / nullif({self.count}, 0D))"
        spread = (
            f"({self.total_variance} - 2D * {mean} * {self.covariance}"
            f" + {mean} * {mean} * {self.count_variance})"
        )
        variance = f"(greatest(0D, {spread}) * {self.rows} / greatest(1D, {self.rows} - 1D))"
        half = f"({self._student()} * sqrt({variance}) / nullif({self.count}, 0D))"
        return self._if_told(
            f"CASE WHEN {half} = 0D THEN 0D"
            f" WHEN {half} < abs({mean}) THEN {half} / (abs({mean}) - {half})"
            " ELSE CAST('Infinity' AS DOUBLE) END"
        )

    def _student(self) -> str:
        free = f"greatest(1D, {self.rows} - 1D)"
        return f"({Z}D + {FIRST!r}D / {free} + {SECOND!r}D / ({free} * {free}))"

    def _if_told(self, bound: str) -> str:
        return (
            f"CASE WHEN {self.count_variance} = 0D AND {self.rows} > 0D THEN 0D"
            f" WHEN {self.rows} >= {LEAST_ROWS}D THEN {bound} END"
        )


def _score(estimate: str, variance: str, z: str) -> str:
    spread = f"({z} * {z} * {variance} / nullif({estimate}, 0D))"
    root = f"sqrt({spread} * {estimate} + {spread} * {spread} / 4D)"
    low = f"({estimate} + {spread} / 2D - {root})"
    return f"CASE WHEN {variance} = 0D THEN 0D ELSE ({estimate} - {low}) / nullif({low}, 0D) END"
