"""Promise: what a query with a contract was promised, and what became of it so far."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from penstock.engine.buffers import Train
from penstock.model.goals import Goals
from penstock.plan.weighing import ERROR, ROWS, SHED
from penstock.qos.allocation import Limit
from penstock.qos.answers import Z
from penstock.qos.contracts import SHOWS_TUPLES, Account, Contract, Sampling, Verdict
from penstock.qos.digest import Digest

SMALL_SHARE = 0.05  # of answers may be wrong: it is the small groups that are
SPREAD = 1.0  # of values while none was seen: as much as their mean, as with waiting times
FORGOTTEN = 0.98  # of what older deliveries told about groups, with each one


@dataclass(slots=True)
class Promise:
    """Counts deliveries. One writer at a time; readers may look meanwhile.

    `sizes` are those of groups, had nothing been dropped, for each tuple a second of the stream:
    `rate` is how many come now. `varies` tells how much the values do.
    """

    contract: Contract
    account: Account = field(default_factory=Account)
    sizes: Digest = field(default_factory=Digest)
    varies: Digest = field(default_factory=Digest)
    errors: Digest = field(default_factory=Digest)
    rate: float = 0.0

    @classmethod
    def of(cls, goals: Goals) -> "Promise | None":
        """Return the promise of a query that asks for one."""
        asks = goals.max_latency is not None or goals.max_error
        return cls(Contract.of(goals)) if asks else None

    def took(self, trains: Sequence[Train], rows: pa.Table, now: float) -> None:
        """Note a delivery."""
        full = [train for train in trains if train.rows.count]
        late = np.array([now - train.info.arrived for train in full])
        many = np.array([float(train.rows.count) for train in full])
        self.account = self.account.delivered(self.contract, late, many)
        if ERROR in rows.schema.names and rows.num_rows:
            self._answered(*(_figures(rows, name) for name in (ERROR, SHED, ROWS)))

    def limit(self, *, aggregates: bool) -> Limit:
        """Return the share of its tuples that the query may give up."""
        if not aggregates:
            return SHOWS_TUPLES.limit(self.contract)
        rows = self.sizes.quantile(SMALL_SHARE) * self.rate
        varies = self.varies.quantile(1 - SMALL_SHARE) if self.varies.weight else 1 + SPREAD
        return Sampling(rows, max(0.0, varies - 1)).limit(self.contract)

    def verdict(self) -> Verdict:
        """Return what became of the contract."""
        return self.account.verdict()

    def _answered(self, errors: np.ndarray, shed: np.ndarray, rows: np.ndarray) -> None:
        self.account = self.account.answered(self.contract, errors)
        self.errors = self.errors.decayed(FORGOTTEN).add(errors[~np.isnan(errors)])
        keep = 1 - shed
        sizes = rows / keep
        if self.rate > 0:
            self.sizes = self.sizes.decayed(FORGOTTEN).add(sizes / self.rate)
        told = (shed > 0) & np.isfinite(errors)
        if told.any():
            inner = errors[told] / (1 + errors[told])
            varies = keep[told] / shed[told] * inner**2 * sizes[told] / Z**2
            self.varies = self.varies.decayed(FORGOTTEN).add(varies)


def _figures(rows: pa.Table, name: str) -> np.ndarray:
    return rows[name].cast("float64").to_numpy()  # type: ignore[no-any-return]
