"""Weigh: what the windows' rows over a sample tell of all tuples."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from penstock.model.schema import Schema
from penstock.model.stored_names import stored_as
from penstock.plan.operators.keeps_times import KeepsTimes
from penstock.plan.operators.windows.sample_scaling import SampleScaling
from penstock.plan.operators.windows.window_aggregate import END, START, WindowAggregate


@dataclass(frozen=True, slots=True)
class HorvitzThompson(KeepsTimes):
    """Needs trains that hold whole windows: one has a row for each share that a gate kept."""

    KIND: ClassVar[str] = "Weigh"

    input: WindowAggregate
    scaling: SampleScaling = field(metadata=stored_as("weighing"))
    schema: Schema

    def text(self) -> str:
        """Show what is estimated."""
        return f"weigh {self.scaling.text()}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Weigh the rows of each window and key."""
        return self.scaling.sql(inputs[0], (START, END))
