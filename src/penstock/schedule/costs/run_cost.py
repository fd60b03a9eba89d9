"""Run cost: how much more, or less, a second is worth in a run of so many tuples than on average.

The documents' tuples cost the same however many are taken at once. A Spark job costs tens of
milliseconds before its first tuple, so that a run of few is dear and one of many is cheap: what a
strategy gains a second has to be that of the run that it would start (decision 0014).
"""

from dataclasses import dataclass

from penstock.schedule.costs.observation import is_figure

# What a slot's time is worth beyond the tuples of the run at hand: while it pays for a run, others
# wait. In the simulation of a measured system (24 queries, a load of 1.5) PCS' mean latency was
# 4.8 s with 1, 3.8 with 4, 3.6 with 8 and with 16; round robin's 5.1.
SLOT_WORTH = 8.0
LEAST_NET = 0.1  # of the mean cost: what a run costs is an estimate, and tuples cost something


@dataclass(frozen=True, slots=True)
class RunCost:
    """What a unit's runs cost: seconds before the first tuple, and of each tuple after that."""

    run: float
    tuple: float
    mean: float  # of a tuple, with its share of the run

    def pays(self, rows: float) -> float:
        """Return the mean cost of so many tuples over what they cost in one run, slot and all."""
        many = max(1.0, rows)
        return many * self.mean / (SLOT_WORTH * self.run + many * self.tuple)


def run_cost_of(run_seconds: float, mean: float, run_rows: float) -> RunCost | None:
    """Return what a unit's runs cost, or None where a run costs nothing by itself.

    `mean` is a tuple's cost in runs of `run_rows`, or without its run where that is 0.
    """
    if not (is_figure(run_seconds) and is_figure(mean) and run_seconds > 0 and mean > 0):
        return None
    share = run_seconds / run_rows if run_rows > 0 else 0.0
    return RunCost(run_seconds, max(LEAST_NET * mean, mean - share), mean)
