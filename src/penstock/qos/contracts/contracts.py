"""Contracts (ANA-10): what a query was promised, and whether the promise is kept."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from penstock.errors import BadOptionError
from penstock.model.goals import Goals
from penstock.qos.contracts.answers import least_keep
from penstock.qos.monitor.digest import Digest, Values
from penstock.qos.shedding.allocation import Limit
from penstock.qos.shedding.gates import LEAST_KEEP

KEPT_SHARE = 0.99  # of tuples that have to be in time: p99 is within max_latency
SURE_SHARE = 0.95  # of answers whose error has to be within max_error: what a bound of 95 % says


@dataclass(frozen=True, slots=True)
class Contract:
    """How late and how wrong answers may be, in seconds and as a share, and what a query weighs.

    Who states no error wants exact answers: nothing is shed for want of a word.
    """

    max_latency: float = math.inf
    max_error: float = 0.0
    weight: float = 1.0

    @classmethod
    def of(cls, goals: Goals) -> "Contract":
        """Return what a query's goals promise."""
        return cls(
            math.inf if goals.max_latency is None else goals.max_latency.total_seconds(),
            goals.max_error or 0.0,
            goals.weight,
        )

    def refuse_below(self, least_latency: float) -> None:
        """Raise where nothing can keep it: what a query costs by itself is later than it allows.

        Shedding helps against waiting, not against a run's own time, with tuples or without.
        """
        if self.max_latency < least_latency:
            asked = "exact answers and " if self.max_error == 0 else ""
            raise BadOptionError(
                f"{asked}a max_latency of {self.max_latency:g} s cannot be kept: "
                f"the query's own units take {least_latency:.3g} s",
                hint=f"max_latency has to be at least {_up(least_latency):g} s; "
                "CREATE QUERY … FORCE AS … lets it in",
            )


@dataclass(frozen=True, slots=True)
class Sampling:
    """What dropping tuples does to a query's answer.

    Of a query that shows tuples, a share is missed. Of an aggregate over `rows` tuples in a group
    and window, whose values have a squared coefficient of variation `spread`, the error is that of
    a sample.
    """

    rows: float = math.nan  # NaN: it shows tuples
    spread: float = 0.0
    mean: bool = False  # it shows means alone
    bounded: bool = True  # false where no sample tells the error of what it shows

    def limit(self, contract: Contract) -> Limit:
        """Return the share of its tuples that a query may give up."""
        if contract.max_error <= 0 or not self.bounded:
            return Limit(0.0, contract.weight)
        if math.isnan(self.rows):
            return Limit(min(contract.max_error, 1 - LEAST_KEEP), contract.weight)
        keep = least_keep(contract.max_error, self.rows, self.spread, mean=self.mean)
        return Limit(1 - max(LEAST_KEEP, keep), contract.weight)


SHOWS_TUPLES = Sampling()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was measured of a contract, and whether it is kept."""

    p50: float
    p95: float
    p99: float
    late_share: float
    wrong_share: float
    is_in_time: bool
    is_exact_enough: bool

    @property
    def is_kept(self) -> bool:
        """Say whether the promise was kept."""
        return self.is_in_time and self.is_exact_enough


@dataclass(frozen=True, slots=True)
class Account:
    """A query's latencies, and how many of its answers were within the error; they add up.

    `late` counts exactly what the digest would tell within 1 %.
    """

    latencies: Digest = field(default_factory=Digest)
    tuples: float = 0.0
    late: float = 0.0
    answers: float = 0.0
    wrong: float = 0.0

    def delivered(
        self, contract: Contract, seconds: Values, weights: Values | None = None
    ) -> "Account":
        """Return the account with tuples that took so long from arrival to delivery."""
        many = np.ones(len(seconds)) if weights is None else weights
        return Account(
            self.latencies.add(seconds, many),
            self.tuples + float(many.sum()),
            self.late + float(many[seconds > contract.max_latency].sum()),
            self.answers,
            self.wrong,
        )

    def answered(self, contract: Contract, errors: Values) -> "Account":
        """Return the account with answers of which each may be so wrong; NaN cannot be told."""
        told = errors[~np.isnan(errors)]
        wrong = float(np.count_nonzero(told > contract.max_error))
        return Account(
            self.latencies, self.tuples, self.late, self.answers + len(told), self.wrong + wrong
        )

    def judged_anew(self) -> "Account":
        """Return the account without latencies: they were judged by another bound."""
        return Account(answers=self.answers, wrong=self.wrong)

    def __add__(self, other: "Account") -> "Account":
        """Return both as one."""
        return Account(
            self.latencies + other.latencies,
            self.tuples + other.tuples,
            self.late + other.late,
            self.answers + other.answers,
            self.wrong + other.wrong,
        )

    def verdict(self) -> Verdict:
        """Return what became of the contract."""
        late = self.late / self.tuples if self.tuples else 0.0
        wrong = self.wrong / self.answers if self.answers else 0.0
        p50, p95, p99 = (self.latencies.quantile(share) for share in (0.5, 0.95, 0.99))
        return Verdict(
            p50, p95, p99, late, wrong, late <= 1 - KEPT_SHARE, wrong <= 1 - SURE_SHARE + 1e-12
        )


def limits_of(
    contracts: Mapping[str, Contract], samplings: Mapping[str, Sampling]
) -> dict[str, Limit]:
    """Return what each query may give up; one that is not told how it samples shows tuples."""
    return {
        query: samplings.get(query, SHOWS_TUPLES).limit(contract)
        for query, contract in contracts.items()
    }


def _up(seconds: float) -> float:
    """Return a duration with two digits, not less than it is."""
    scale = 10.0 ** (math.floor(math.log10(seconds)) - 1)
    return round(math.ceil(seconds / scale) * scale, 12)
