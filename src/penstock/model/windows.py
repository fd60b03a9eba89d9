"""The windows of the language, as frozen data; which of them run is the planner's business."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from penstock.errors import BadWindowError

ZERO = timedelta(0)


@dataclass(frozen=True, slots=True)
class RangeWindow:
    """Spans of `size` of event time that start every `slide`, counted from 1970."""

    size: timedelta
    slide: timedelta | None = None

    def __post_init__(self) -> None:
        """Refuse spans that never move, run backwards or skip tuples."""
        if self.size <= ZERO:
            raise BadWindowError(f"RANGE {self.size} must be above zero")
        if self.slide is not None and not ZERO < self.slide <= self.size:
            raise BadWindowError(
                f"slide {self.slide} must be above zero and at most the size {self.size}",
                hint="a slide longer than the size would skip tuples; filter instead",
            )


@dataclass(frozen=True, slots=True)
class RowsWindow:
    """The last `rows` tuples, every `slide` tuples, of the stream or of each partition."""

    rows: int
    slide: int | None = None
    partition_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse counts below one and slides that skip tuples."""
        if self.rows < 1:
            raise BadWindowError(f"ROWS {self.rows} must be at least 1")
        if self.slide is not None and not 1 <= self.slide <= self.rows:
            raise BadWindowError(f"slide {self.slide} must be between 1 and ROWS {self.rows}")


@dataclass(frozen=True, slots=True)
class GenericWindow:
    """MavStream's window (MAV-26): first bounds, the hop of each, the end of the query."""

    begin: datetime | int
    end: datetime | int
    hop_lower: timedelta | int
    hop_upper: timedelta | int
    until: datetime | int | None = None


@dataclass(frozen=True, slots=True)
class LandmarkWindow:
    """A fixed start, and an end that grows by `every`."""

    start: datetime | int
    every: timedelta | int


@dataclass(frozen=True, slots=True)
class SessionWindow:
    """Runs of tuples with no gap of `gap` between them."""

    gap: timedelta

    def __post_init__(self) -> None:
        """Refuse a gap that would close at once."""
        if self.gap <= ZERO:
            raise BadWindowError(f"SESSION GAP {self.gap} must be above zero")


@dataclass(frozen=True, slots=True)
class SemanticWindow:
    """Tuples up to the one where `condition` (SQL over the content) first holds."""

    condition: str


Window = RangeWindow | RowsWindow | GenericWindow | LandmarkWindow | SessionWindow | SemanticWindow
