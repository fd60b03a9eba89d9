"""Small streams for the references: few keys, a coarse grid of times, bounded disorder."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import accumulate, cycle

from hypothesis import strategies as st

from tests.e2e.reference.windows import Row, micros

BEGIN = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
SECOND = 1_000_000  # microseconds, which is what the references count in
GRID = timedelta(seconds=1)  # so coarse that ties and tuples on a window's bound are the rule
SLACK = 4  # steps of the grid
COLUMNS = "id INT, k STRING, g INT, x INT, d DECIMAL(10,2), w STRING"

STEPS = st.sampled_from((0, 0, 1, 1, 2, 3, 9))
BEHIND = st.sampled_from((0, 0, 0, 1, 2, SLACK))
KEYS = st.sampled_from(("a", "b", "c", None))
GROUPS = st.integers(0, 2)
NUMBERS = st.none() | st.integers(-4, 5)
CENTS = st.none() | st.integers(-250, 250)
WORDS = st.none() | st.sampled_from(("red", "green", "blue", ""))


@dataclass(frozen=True)
class Flow:
    """A stream's tuples in order of arrival, and the sizes of its trains, over and over."""

    rows: list[Row]
    sizes: list[int]

    @property
    def is_timed(self) -> bool:
        return all("ts" in row for row in self.rows)

    def trains(self) -> Iterator[list[Row]]:
        """Yield the tuples as they are pushed."""
        start = 0
        for size in cycle(self.sizes):
            if start >= len(self.rows):
                return
            yield self.rows[start : start + size]
            start += size

    def definition(self, name: str) -> str:
        """Return the CREATE STREAM that takes these tuples, none of them late."""
        time = f"TIMESTAMP BY ts SLACK INTERVAL {SLACK * GRID.seconds} SECONDS "
        columns = f"ts TIMESTAMP, {COLUMNS}" if self.is_timed else COLUMNS
        return (
            f"CREATE STREAM {name} ({columns}) {time if self.is_timed else ''}"
            "FROM push(rows_per_train => 1);"
        )


@st.composite
def streams(draw: st.DrawFn, least: int = 20, most: int = 60) -> list[Row]:
    """Draw tuples in order of arrival; none is more than SLACK behind one before it."""
    row = st.tuples(STEPS, BEHIND, KEYS, GROUPS, NUMBERS, CENTS, WORDS)
    drawn = draw(st.lists(row, min_size=least, max_size=most))
    clock = accumulate(step for step, *_ in drawn)
    return [
        {
            "ts": BEGIN + (at - behind) * GRID,
            "id": number,
            "k": key,
            "g": group,
            "x": x,
            "d": None if cents is None else Decimal(cents).scaleb(-2),
            "w": word,
        }
        for number, (at, (_, behind, key, group, x, cents, word)) in enumerate(
            zip(clock, drawn, strict=True)
        )
    ]


def cuts() -> st.SearchStrategy[list[int]]:
    """Draw sizes of trains."""
    return st.lists(st.integers(3, 40), min_size=1, max_size=6)


def flows(least: int = 20, most: int = 60) -> st.SearchStrategy[Flow]:
    """Draw a stream cut into trains."""
    return st.builds(Flow, streams(least, most), cuts())


def untimed(flow: Flow) -> Flow:
    """Return the flow without times, so that arrival is its order."""
    return Flow(
        [{name: row[name] for name in row if name != "ts"} for row in flow.rows], flow.sizes
    )


def disorder(rows: list[Row]) -> int:
    """Return by how many microseconds a tuple comes behind an earlier one, at most."""
    times = [micros(row["ts"]) for row in rows]
    return max(
        (high - at for high, at in zip(accumulate(times, max), times, strict=True)), default=0
    )
