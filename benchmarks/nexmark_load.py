"""Nexmark's auction house: people come, open auctions, and bid, as Parquet files.

Of every fifty events one is a person, three are auctions and forty-six are bids. They follow one
another steadily; each is up to `DISORDER` older than its place says, within the slack. Sellers are
mostly people who came lately, half of the bids go to the latest hot auction, the others to
auctions that opened lately. Prices are even on a logarithmic scale.

The files of one batch hold the events of one minute, a file a stream. The last batch holds one
event a stream an hour later: it closes every window, and belongs to nothing else.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.readings import DAY, FIRST_DAY, SECOND

STREAMS = {"person": 1, "auction": 3, "bid": 46}
EPOCH = sum(STREAMS.values())
BATCH_SECONDS = 60
SLACK_SECONDS = 4
DISORDER = 1_500_000
FIRST_ID = 1_000
LAST_ID = -1  # of what stands in the last batch
LONGEST_LIFE = 240 * SECOND  # of an auction
USUAL_LIFE = 30 * SECOND
HOT_EVERY = 50  # one auction in so many is hot until the next one is
CATEGORIES = range(10, 15)
PLACES = (
    ("phoenix", "az"),
    ("san francisco", "ca"),
    ("los angeles", "ca"),
    ("boise", "id"),
    ("portland", "or"),
    ("bend", "or"),
    ("seattle", "wa"),
    ("kent", "wa"),
    ("cheyenne", "wy"),
)
FIRST_NAMES = ("ada", "ben", "cleo", "dan", "eve", "finn", "gus", "hana", "ida", "jon", "kay")
LAST_NAMES = ("abel", "boyd", "cole", "dunn", "egan", "ford", "gray", "holt", "ives", "jung")
CHANNELS = ("north", "south", "east", "west", *(f"channel-{n}" for n in range(100)))
TEXTS = 1_000  # different texts of each kind: enough to defeat a dictionary of a few

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Load:
    """So many events (a multiple of fifty) a batch, below `path`, a directory a stream."""

    path: Path
    events: int
    batches: int
    start: int = FIRST_DAY
    seed: int = 11

    def on_day(self, number: int, path: Path) -> "Load":
        """Return a load of the same sizes, so many days later."""
        return replace(self, path=path, start=FIRST_DAY + number * DAY)

    def rows(self, *streams: str) -> int:
        """Return how many rows of these streams a batch has; of all where none is named."""
        return self.events // EPOCH * sum(STREAMS[name] for name in streams or STREAMS)

    @property
    def gap(self) -> float:
        """Return the microseconds from event to event."""
        return BATCH_SECONDS * SECOND / self.events


def write_load(load: Load) -> None:
    """Write the files, oldest first."""
    random = np.random.default_rng(load.seed)
    texts = {size: _texts(random, size) for size in (20, 80, 150, 400)}
    for name in STREAMS:
        (load.path / name).mkdir(parents=True)
    for batch in range(load.batches):
        for name, table in _tables(load, batch, texts, random).items():
            _write(table, load.path / name, batch)
    for name, table in _tables(replace(load, events=EPOCH), 0, texts, random).items():
        _write(_farewell(table.slice(0, 1), load), load.path / name, load.batches)


def _tables(
    load: Load, batch: int, texts: dict[int, pa.Array], random: np.random.Generator
) -> dict[str, pa.Table]:
    """Return one batch of each stream."""
    numbers = np.arange(batch * load.events, (batch + 1) * load.events)
    place = numbers % EPOCH
    people = numbers[place < 1]
    auctions = numbers[(place >= 1) & (place < 4)]
    bids = numbers[place >= 4]
    return {
        "person": _people(load, people, texts, random),
        "auction": _auctions(load, auctions, texts, random),
        "bid": _bids(load, bids, texts, random),
    }


def _people(
    load: Load, numbers: Ints, texts: dict[int, pa.Array], random: np.random.Generator
) -> pa.Table:
    count = len(numbers)
    names = pa.array([f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES])
    places = random.integers(0, len(PLACES), count)
    return pa.table(
        {
            "id": FIRST_ID + _latest_person(numbers),
            "name": _some(names, count, random),
            "email_address": _some(texts[20], count, random),
            "credit_card": _some(texts[20], count, random),
            "city": pa.array([city for city, _ in PLACES]).take(pa.array(places)),
            "state": pa.array([state for _, state in PLACES]).take(pa.array(places)),
            "date_time": _moments(_times(load, numbers, random)),
            "extra": _some(texts[150], count, random),
        }
    )


def _auctions(
    load: Load, numbers: Ints, texts: dict[int, pa.Array], random: np.random.Generator
) -> pa.Table:
    count, times = len(numbers), _times(load, numbers, random)
    first_bid = _prices(count, random)
    life = np.minimum(random.exponential(USUAL_LIFE, count), LONGEST_LIFE).astype(np.int64)
    return pa.table(
        {
            "id": FIRST_ID + _auctions_before(numbers),
            "item_name": _some(texts[20], count, random),
            "description": _some(texts[80], count, random),
            "initial_bid": first_bid,
            "reserve": first_bid + _prices(count, random),
            "date_time": _moments(times),
            "expires": _moments(times + life),
            "seller": FIRST_ID + _lately(load, _latest_person(numbers), EPOCH, random),
            "category": random.integers(CATEGORIES.start, CATEGORIES.stop, count),
            "extra": _some(texts[400], count, random),
        }
    )


def _bids(
    load: Load, numbers: Ints, texts: dict[int, pa.Array], random: np.random.Generator
) -> pa.Table:
    count, latest = len(numbers), _auctions_before(numbers) - 1
    hot = latest // HOT_EVERY * HOT_EVERY
    others = _lately(load, latest, EPOCH / STREAMS["auction"], random)
    return pa.table(
        {
            "auction": FIRST_ID + np.where(random.random(count) < 0.5, hot, others),
            "bidder": FIRST_ID + _lately(load, _latest_person(numbers), EPOCH, random),
            "price": _prices(count, random),
            "channel": _some(pa.array(CHANNELS), count, random),
            "url": _some(texts[80], count, random),
            "date_time": _moments(_times(load, numbers, random)),
            "extra": _some(texts[80], count, random),
        }
    )


def _latest_person(numbers: Ints) -> Ints:
    """Return the place of the latest person at an event; a person's own."""
    return numbers // EPOCH


def _auctions_before(numbers: Ints) -> Ints:
    """Return how many auctions opened before an event."""
    whole, place = np.divmod(numbers, EPOCH)
    before: Ints = whole * STREAMS["auction"] + np.clip(place - 1, 0, STREAMS["auction"])
    return before


def _lately(load: Load, latest: Ints, events: float, random: np.random.Generator) -> Ints:
    """Return places at or before the latest, where one in so many events takes a place."""
    usual = USUAL_LIFE / 2 / (load.gap * events)
    back = random.exponential(usual, len(latest)).astype(np.int64)
    places: Ints = np.maximum(latest - back, 0)
    return places


def _times(load: Load, numbers: Ints, random: np.random.Generator) -> Ints:
    """Return when events happened, in microseconds."""
    steady = load.start + (numbers * load.gap).astype(np.int64)
    return steady - random.integers(0, DISORDER, len(numbers))


def _prices(count: int, random: np.random.Generator) -> Ints:
    prices: Ints = (100 * 10 ** random.uniform(0, 6, count)).astype(np.int64)
    return prices


def _moments(times: Ints) -> pa.Array:
    return pa.array(times).cast(pa.timestamp("us", "UTC"))


def _some(texts: pa.Array, count: int, random: np.random.Generator) -> pa.Array:
    return texts.take(pa.array(random.integers(0, len(texts), count)))


def _texts(random: np.random.Generator, size: int) -> pa.Array:
    letters = random.integers(ord("a"), ord("z") + 1, (TEXTS, size), dtype=np.uint8)
    return pa.array([row.tobytes().decode() for row in letters])


def _farewell(table: pa.Table, load: Load) -> pa.Table:
    """Return a row that comes long after all others and refers to nobody."""
    at = load.start + (load.batches * BATCH_SECONDS + 3_600) * SECOND
    values = {"date_time": _moments(np.array([at])), "expires": _moments(np.array([at]))}
    for name in table.column_names:
        if name in ("id", "auction", "bidder", "seller"):
            values[name] = pa.array([LAST_ID if name == "id" else LAST_ID - 1], pa.int64())
        if name in values:
            table = table.set_column(table.column_names.index(name), name, values[name])
    return table


def _write(table: pa.Table, path: Path, batch: int) -> None:
    file = path / f"batch-{batch:04d}.parquet"
    pq.write_table(table, file)
    changed = 1_700_000_000 + batch  # both sides take files by their times of change
    os.utime(file, (changed, changed))
