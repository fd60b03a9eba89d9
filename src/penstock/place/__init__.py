"""Where units run: patterns that spread them over processors, costs, and when one moves: pure."""

from penstock.place.costs import COST_MODELS
from penstock.place.network import Network, NetworkUnit
from penstock.place.patterns import PATTERNS
from penstock.place.placement import Move, Placement, faults_of, moves_between
from penstock.place.policies import POLICIES
from penstock.place.processor import Processor
from penstock.place.redistribution import Redistribution
from penstock.place.situation import Limits, Situation
from penstock.place.statistics import CostTable, Statistics, UnitFigures

__all__ = [
    "COST_MODELS",
    "PATTERNS",
    "POLICIES",
    "CostTable",
    "Limits",
    "Move",
    "Network",
    "NetworkUnit",
    "Placement",
    "Processor",
    "Redistribution",
    "Situation",
    "Statistics",
    "UnitFigures",
    "faults_of",
    "moves_between",
]
