"""Profile: what was measured of a function on a stream, kept as JSON with what it is good for."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from penstock.functions.tuning.curves import CostCurve
from penstock.functions.tuning.sites import Costs

FORM = 1  # of the text; one that is not known is measured anew


@dataclass(frozen=True, slots=True)
class FunctionProfile:
    """Costs of a function in a version, for windows of a size at a rate."""

    function: str
    version: int
    size: int
    windows_a_second: float
    costs: Costs

    def text(self) -> str:
        """Return it as JSON."""
        return json.dumps({"form": FORM, **asdict(self)})


def profile_of(text: str) -> FunctionProfile | None:
    """Return a profile from its JSON, or None where it is of another form."""
    told = json.loads(text)
    if told.pop("form", None) != FORM:
        return None
    costs = told.pop("costs")
    return FunctionProfile(**told, costs=_costs(costs))


def _costs(told: dict[str, Any]) -> Costs:
    receive, compute, send, route, merge = (
        CostCurve(**told[name]) for name in ("receive", "compute", "send", "route", "merge")
    )
    splits, combines = (
        {int(fan): CostCurve(**each) for fan, each in told[name].items()}
        for name in ("splits", "combines")
    )
    return Costs(receive, compute, send, told["system"], route, merge, splits, combines)
