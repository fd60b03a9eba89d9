"""Flow: items of a stream through a graph of functions, one output of it (GSDM-21)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.functions.flows.stages import Stages
from penstock.model.definitions import Sites
from penstock.model.schema import Schema
from penstock.plan.operators.operator import EventTime, Operator


@dataclass(frozen=True, slots=True)
class Flow:
    """The input's items, in order, through the flow that `graph` tells; `written` is for people.

    `stages` is what the engine runs: the same graph with its functions. It is no part of what the
    operator is, since a function has its version in the graph. A branch that workers have not done
    within `patience` seconds is given up.
    """

    input: Operator
    written: str
    graph: str
    schema: Schema
    times: tuple[EventTime, ...]
    stages: Stages = field(compare=False, repr=False)
    sites: Sites = "auto"
    patience: float | None = None

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the one input."""
        return (self.input,)

    def identity(self) -> tuple[object, ...]:
        """Return the graph, whatever it is called, and where and how long it runs."""
        return (self.input, self.graph, self.schema, self.sites, self.patience)

    def text(self) -> str:
        """Say which functions, where they run, and exactly which graph it is."""
        where = "" if self.sites == "auto" else f" in {self.sites}"
        return f"flow {self.written}{where}; {self.graph}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Refuse: functions are not Spark's SQL."""
        raise TypeError(f"flow {self.written} is no SELECT")
