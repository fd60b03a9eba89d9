"""What a processor's load is, from 0 to 1: a file for each model (DCAPE-30)."""

from collections.abc import Callable

from penstock.place.costs.busy_time import busy_time
from penstock.place.costs.memory import memory
from penstock.place.costs.observed import Observed
from penstock.place.costs.output_rate import output_rate
from penstock.place.statistics import CostTable

CostModel = Callable[[Observed], CostTable]

COST_MODELS: dict[str, CostModel] = {
    "memory": memory,
    "output_rate": output_rate,
    "busy_time": busy_time,
}
