"""What an action that reaches outside must do."""

import json
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from penstock.engine.allowed import Allowed
from penstock.engine.sinks.json_lines import json_lines


@dataclass(frozen=True, slots=True)
class TriggerBatch:
    """What an action is told: the rule, its event, the tuples, and the key of this firing.

    The key is the same whenever the same firing is tried again. `made` has what the rule makes of
    the tuples for this action; `allowed` is what it may reach by now.
    """

    rule: str
    event: str
    key: str
    rows: pa.Table
    made: pa.Table | None = None
    allowed: Allowed = field(default_factory=Allowed)

    def json(self) -> bytes:
        """Return all of it as one JSON object."""
        tuples = b",".join(json_lines(self.rows).splitlines())
        head = json.dumps({"rule": self.rule, "event": self.event, "key": self.key})
        return head[:-1].encode() + b', "rows": [' + tuples + b"]}"


class Outside(Protocol):
    """One action of one rule. What it raises says nothing secret; it may be called again."""

    def check(self, allowed: Allowed) -> None:
        """Raise what is wrong with it, before the rule stands."""
        ...

    def perform(self, trigger_batch: TriggerBatch, seconds: float) -> None:
        """Do it within so many seconds, or raise ActionError."""
        ...
