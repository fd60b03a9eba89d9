"""Measured: a workload from what EXPLAIN SCHEDULE AS JSON wrote of a running system."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import BadOptionError
from penstock.plan.operators import Operator, key
from penstock.plan.operators.graph import Graph
from penstock.schedule.costs.observation import Observation, OperatorFigures, QueryFigures
from penstock.sim.workloads.arrivals import poisson, trains
from penstock.sim.workloads.step import SimulatedOperator, stream
from penstock.sim.workloads.workload import Workload

FORMAT = 1
LEAST_RATE = 1e-3  # tuples a second: a stream that was silent comes in all the same


@dataclass(frozen=True, slots=True)
class MeasuredSystem:
    """A graph, its figures, and what came in when it was measured; `run_seconds` cost every run."""

    graph: Graph
    truth: Observation
    rates: Mapping[str, float]
    train_rows: Mapping[str, float]
    validity: Mapping[str, float]
    slots: int
    run_seconds: float
    strategy: str

    def workload(self, seconds: float, seed: int, rate_factor: float = 1.0) -> Workload:
        """Return Poisson arrivals at the measured rates, times a factor, in trains as long."""
        if not 0 < rate_factor < math.inf:
            raise BadOptionError(f"rate factor {rate_factor} must be above zero and finite")
        arrivals = {}
        for place, (name, measured) in enumerate(self.rates.items()):
            rate = max(LEAST_RATE, measured * rate_factor)
            times = poisson(rate, seconds, seed * 100 + place)
            arrivals[name] = trains(times, max(1e-3, self.train_rows[name] / rate))
        return Workload(self.graph, self.truth, arrivals, self.validity, seconds)


def read_measured(path: Path) -> MeasuredSystem:
    """Return what a file holds, or raise what is wrong with it."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadOptionError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise BadOptionError(f"{path} is no JSON", hint=HINT) from None
    try:
        return _measured(data)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadOptionError(f"{path} lacks what a simulation needs: {error}", hint=HINT) from None


HINT = "EXPLAIN SCHEDULE AS JSON INTO 'measured.json' writes such a file"


def _measured(data: Mapping[str, Any]) -> MeasuredSystem:
    if data["format"] != FORMAT:
        raise ValueError(f"format {data['format']}")
    built: dict[str, Operator] = {each["node"]: stream(each["stream"]) for each in data["streams"]}
    figures: dict[str, OperatorFigures] = {}
    for each in data["streams"]:
        figures[key(built[each["node"]])] = OperatorFigures.declared(
            0.0, 1.0, _number(each["tuple_bytes"]), _number(each["rate"])
        )
    for each in data["nodes"]:  # inputs first, as they are written
        node = SimulatedOperator(each["node"], tuple(built[below] for below in each["inputs"]))
        built[each["node"]] = node
        figures[key(node)] = OperatorFigures.declared(
            _number(each["seconds"]), _number(each["selectivity"]), _number(each["tuple_bytes"])
        )
    streams = {key(built[each["node"]]): each for each in data["streams"]}
    return MeasuredSystem(
        Graph({each["query"]: built[each["root"]] for each in data["queries"]}),
        Observation(
            figures,
            {},
            {each["query"]: _goals(each) for each in data["queries"]},
            _number(data["run_seconds"]),
        ),
        {name: _number(each["rate"]) for name, each in streams.items()},
        {name: max(1.0, _number(each["train_rows"])) for name, each in streams.items()},
        {
            name: float(each["valid_for_seconds"])
            for name, each in streams.items()
            if each["valid_for_seconds"] is not None
        },
        int(data["slots"]),
        _number(data["run_seconds"]),
        str(data["strategy"]),
    )


def _goals(query: Mapping[str, Any]) -> QueryFigures:
    return QueryFigures(float(query["weight"]), int(query["priority"]))


def _number(value: float | None) -> float:
    """Return a figure; what was not measured is none, and deciders know what to take instead."""
    return math.nan if value is None else float(value)
