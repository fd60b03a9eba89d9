"""OptProfit as printed (TIME-27, defect C10), to reproduce the thesis' experiments."""

from penstock.schedule.costs.fragments import Forest, Fragment
from penstock.schedule.strategies.profit.optprofit import OptProfit
from penstock.schedule.strategies.profit.printed_fragments import printed_fragments


class OptProfitPaper(OptProfit):
    """Misses the best fragment where a parent is worth its cost only for several children."""

    def fragments(self, forest: Forest) -> list[Fragment]:
        return printed_fragments(forest)
