"""Promise: what a query with a contract was promised, and what became of it so far."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from penstock.engine.trains.buffers import Train
from penstock.model.goals import Goals
from penstock.plan.operators.gate import ERROR, ROWS, SHED
from penstock.qos.contracts.answers import Z
from penstock.qos.contracts.contracts import SHOWS_TUPLES, Account, Contract, Sampling, Verdict
from penstock.qos.contracts.warmth import is_warm
from penstock.qos.load.tempo import SECOND, Tempo
from penstock.qos.monitor.digest import Digest
from penstock.qos.shedding.allocation import Limit

SMALL_SHARE = 0.05  # of answers may be wrong: it is the small groups that are
SPREAD = 1.0  # of values while none was seen: as much as their mean, as with waiting times
REMEMBERED = 0.7  # of how large groups were for a stream's rate: both follow changes with a lag
WINDOW = "window_start"  # the column by which rows tell their window apart, where they show it
FORGOTTEN = 0.9  # of what older deliveries told about groups, with each one


@dataclass(slots=True)
class Promise:
    """Counts deliveries. One writer at a time; readers may look meanwhile.

    `shares` are the sizes of groups over those of their window's mean one, had nothing been
    dropped. `groups` and `rates` are decayed sums of such means and of the tuples a second of the
    stream at their time; `tempo` tells how many there are. `span` is that of a window, `varies`
    tells how much values do. `answers` are the deliveries since `first_answer`, also those that
    came before the query was warm.
    """

    contract: Contract
    account: Account = field(default_factory=Account)
    shares: Digest = field(default_factory=Digest)
    groups: float = 0.0
    rates: float = 0.0
    varies: Digest = field(default_factory=Digest)
    errors: Digest = field(default_factory=Digest)
    tempo: Tempo = field(default_factory=Tempo)
    span: int = SECOND
    answers: int = 0
    first_answer: float | None = None

    @classmethod
    def of(cls, goals: Goals) -> "Promise | None":
        """Return the promise of a query that asks for one."""
        asks = goals.max_latency is not None or goals.max_error
        return cls(Contract.of(goals)) if asks else None

    @classmethod
    def again(cls, old: "Promise | None", goals: Goals) -> "Promise | None":
        """Return the promise under other goals.

        What was learned about groups holds on; latencies are judged anew where their bound is new.
        """
        new = cls.of(goals)
        if new is None or old is None:
            return new
        same = new.contract.max_latency == old.contract.max_latency
        account = old.account if same else old.account.judged_anew()
        return replace(old, contract=new.contract, account=account)

    def took(self, trains: Sequence[Train], rows: pa.Table, now: float) -> None:
        """Note a delivery."""
        self.first_answer = now if self.first_answer is None else self.first_answer
        if self.is_warm(now):
            full = [train for train in trains if train.rows.count]
            late = np.array([now - train.info.arrived for train in full])
            many = np.array([float(train.rows.count) for train in full])
            self.account = self.account.delivered(self.contract, late, many)
        self.answers += 1
        if ERROR in rows.schema.names and rows.num_rows:
            rate = self.tempo.before(trains[-1].info.watermark, self.span)
            figures = [_figures(rows, name) for name in (ERROR, SHED, ROWS)]
            self._answered(rate, _windows(rows), *figures)

    def is_warm(self, now: float) -> bool:
        """Say whether its latencies count; where none was promised there is nothing to wait for."""
        if math.isinf(self.contract.max_latency):
            return True
        first = self.first_answer
        return first is not None and is_warm(self.answers, now - first)

    def limit(self, *, aggregates: bool) -> Limit:
        """Return the share of its tuples that the query may give up."""
        if not aggregates:
            return SHOWS_TUPLES.limit(self.contract)
        return self.limit_at(self.tempo.per_second)

    def limit_at(self, rate: float) -> Limit:
        """Return what an aggregate may give up of a window with so many tuples a second."""
        rows = self._group_at_one * rate
        return Sampling(rows, max(0.0, self._variation - 1)).limit(self.contract)

    @property
    def told_by_a_tuple(self) -> float:
        """Return what a tuple a second more tells of its answers: the less, the less can go."""
        return self._group_at_one / self._variation

    @property
    def _group_at_one(self) -> float:
        """Return how many tuples a small group has in a window, for each tuple a second."""
        mean = self.groups / self.rates if self.rates > 0 else 0.0
        return self.shares.quantile(SMALL_SHARE) * mean

    @property
    def _variation(self) -> float:
        return self.varies.quantile(1 - SMALL_SHARE) if self.varies.weight else 1 + SPREAD

    def verdict(self) -> Verdict:
        """Return what became of the contract."""
        return self.account.verdict()

    def _answered(
        self,
        rate: float,
        windows: np.ndarray,
        errors: np.ndarray,
        shed: np.ndarray,
        rows: np.ndarray,
    ) -> None:
        self.account = self.account.answered(self.contract, errors)
        self.errors = self.errors.decayed(FORGOTTEN).add(errors[~np.isnan(errors)])
        keep = 1 - shed
        sizes = rows / keep
        if rate > 0:
            means = np.bincount(windows, sizes) / np.bincount(windows)
            self.shares = self.shares.decayed(FORGOTTEN).add(sizes / means[windows])
            self.groups = self.groups * REMEMBERED + float(means[-1])
            self.rates = self.rates * REMEMBERED + rate
        told = (shed > 0) & np.isfinite(errors)
        if told.any():
            inner = errors[told] / (1 + errors[told])
            varies = keep[told] / shed[told] * inner**2 * sizes[told] / Z**2
            self.varies = self.varies.decayed(FORGOTTEN).add(varies)


def _windows(rows: pa.Table) -> np.ndarray:
    """Return the place of each row's window; all are of one where they do not show theirs."""
    if WINDOW not in rows.schema.names:
        return np.zeros(rows.num_rows, dtype=np.int64)
    return np.unique(rows[WINDOW].to_numpy(), return_inverse=True)[1]


def _figures(rows: pa.Table, name: str) -> np.ndarray:
    return rows[name].cast("float64").to_numpy()  # type: ignore[no-any-return]
