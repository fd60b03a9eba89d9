"""Strategies: how the graph is cut into units, and which ready unit runs next."""

from penstock.schedule.choice import Choice, Parameter, make
from penstock.schedule.costs.observation import Observation
from penstock.schedule.strategies.adaptive import Adaptive
from penstock.schedule.strategies.chain import Chain
from penstock.schedule.strategies.earliest_deadline import EarliestDeadline
from penstock.schedule.strategies.fifo import Fifo
from penstock.schedule.strategies.least_laxity import LeastLaxity
from penstock.schedule.strategies.pcs import Pcs
from penstock.schedule.strategies.profit.basic import Basic
from penstock.schedule.strategies.profit.optprofit import OptProfit
from penstock.schedule.strategies.profit.optprofit_paper import OptProfitPaper
from penstock.schedule.strategies.round_robin import RoundRobin
from penstock.schedule.strategies.segment import Segment
from penstock.schedule.strategies.simplified_segment import SimplifiedSegment
from penstock.schedule.strategies.weighted_round_robin import WeightedRoundRobin
from penstock.schedule.strategy import (
    Discarding,
    Interrupting,
    ReadyUnit,
    RunningUnit,
    Strategy,
)

STRATEGIES: dict[str, type[Strategy]] = {
    "fifo": Fifo,
    "round_robin": RoundRobin,
    "weighted_round_robin": WeightedRoundRobin,
    "chain": Chain,
    "pcs": Pcs,
    "segment": Segment,
    "simplified_segment": SimplifiedSegment,
    "earliest_deadline": EarliestDeadline,
    "least_laxity": LeastLaxity,
    "basic": Basic,
    "optprofit": OptProfit,
    "optprofit_paper": OptProfitPaper,
    "adaptive": Adaptive,
}

__all__ = [
    "STRATEGIES",
    "Choice",
    "Discarding",
    "Interrupting",
    "Observation",
    "ReadyUnit",
    "RoundRobin",
    "RunningUnit",
    "Strategy",
    "make_strategy",
]


def make_strategy(name: str, **parameters: Parameter) -> Strategy:
    """Return a new strategy of that name, with the parameters that it takes."""
    return make(STRATEGIES, "strategy", Choice(name, tuple(parameters.items())))
