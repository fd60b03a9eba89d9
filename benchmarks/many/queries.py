"""Standing queries as records that know no system; each system's SQL is made of them."""

from dataclasses import dataclass
from typing import Literal

Type = Literal["time", "text", "int", "double"]
Operator = Literal["=", "<", ">", ">=", "BETWEEN", "IN"]
Value = int | float | str

# Keys and aggregates by the names that their columns have in results.
KEYS: dict[str, Type] = {"bucket": "text", "road": "int", "lane": "int", "type": "text"}
AGGREGATES: dict[str, Type] = {
    "cars": "int",
    "sum_mph": "double",
    "avg_mph": "double",
    "min_mph": "double",
    "max_mph": "double",
    "sum_weight": "int",
    "max_weight": "int",
}


@dataclass(frozen=True, slots=True)
class Window:
    """Spans of `size` seconds, one every `slide`, of which `size` is a multiple."""

    size: int
    slide: int

    def __post_init__(self) -> None:
        assert 0 < self.slide <= self.size, f"no window: {self}"
        assert self.size % self.slide == 0, f"Flink has no such window: {self}"


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of a column with constants: two for BETWEEN, any number for IN, else one."""

    column: str
    operator: Operator
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class WindowAggregate:
    """Aggregates of traffic by window and keys; `more_than` is a HAVING on the count."""

    name: str
    window: Window
    keys: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ("cars",)
    where: tuple[Condition, ...] = ()
    more_than: int | None = None

    @property
    def columns(self) -> dict[str, Type]:
        """Return the result's columns with their types, in order."""
        return {
            "window_start": "time",
            "window_end": "time",
            **{key: KEYS[key] for key in self.keys},
            **{name: AGGREGATES[name] for name in self.aggregates},
        }


@dataclass(frozen=True, slots=True)
class TableJoinAggregate:
    """Traffic beside its road's row of a table: speeders of each region, by window."""

    name: str
    window: Window
    over_limit: int
    where: tuple[Condition, ...] = ()

    @property
    def columns(self) -> dict[str, Type]:
        """Return the result's columns with their types, in order."""
        return {
            "window_start": "time",
            "window_end": "time",
            "region": "text",
            "cars": "int",
            "max_mph": "double",
        }


@dataclass(frozen=True, slots=True)
class StreamJoin:
    """Traffic and reports of the same car at most `seconds` apart, reports so grave or graver."""

    name: str
    seconds: int
    severity: int

    @property
    def columns(self) -> dict[str, Type]:
        """Return the result's columns with their types, in order."""
        return {"ts": "time", "reported": "time", "car": "text", "mph": "double", "severity": "int"}


Query = WindowAggregate | TableJoinAggregate | StreamJoin
