"""Pictures of a surface that grow: a directed random walk, and then the rest (TIME-49).

The surface is cut into tiles, and several walks compute one tile each in turn. Where a value is far
from the one before, the next step goes back between the two, else onwards; the further, the surer.
Wu, Exploring Time Related Issues in Data Stream Processing (2011), Algorithm 9, which leaves open
when a difference is large (here: above the median of those seen), how far a step goes (here: as
far as walks lie apart, at most), and what its cells are, so that one at a time would cost more
than the whole: here, tiles.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.errors import BadArgumentError
from penstock.grid.coalesce import coalesced
from penstock.grid.execution import TIME, Execution, Strategy, path
from penstock.grid.reach import wanted
from penstock.grid.space.cells import Cells, Floats, Mask, no_cells, together
from penstock.grid.space.perspectives import Node
from penstock.grid.space.spans import Region, Spans
from penstock.model.grids import NO_WINDOW, Interpolate, Window

MOST_TILES = 1_024
TRIES = 16  # steps of a walk onto what is there already; then it goes on somewhere else
PICTURES = 10  # of the rest
Coordinate = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Walk:
    """How to walk: until a `share` of the tiles is there, so many walks at a time.

    With a `fold`, so many cells of time are a row of the picture: the hours of a day.
    """

    share: float = 0.15
    walks: int = 8
    seed: int = 0
    fold: int | None = None

    def __post_init__(self) -> None:
        """Refuse walks that lead nowhere."""
        if not 0 < self.share <= 1 or self.walks < 1 or (self.fold is not None and self.fold < 1):
            raise BadArgumentError("share is above 0 and at most 1, walks and fold are at least 1")


WALK = Walk()


@dataclass(frozen=True, slots=True)
class Picture:
    """What is there of a surface: `share` of its tiles; `whole` is the surface itself."""

    cells: Cells
    share: float
    whole: bool


def pictures(surface: Node, window: Window = NO_WINDOW, walk: Walk = WALK) -> Iterator[Picture]:
    """Yield pictures, each with all cells of those before; the last has all cells there are."""
    plan = coalesced(surface)
    region = wanted(plan, window)
    if not len(region):
        yield Picture(no_cells(), 1.0, whole=True)
        return
    tiles = tiles_of(region, walk.fold)
    in_space = len({each[2:] for each in tiles}) > 1
    execution = Execution(plan, window, Strategy(top=_below_maps(plan) if in_space else 0))
    execution.materialise(region)
    parts: list[Cells] = []
    walkers = Walkers(tuple(tiles), walk)
    while len(walkers.values) < walk.share * len(tiles):
        for at in walkers.steps():
            cells = execution.pull(plan, tiles[at])
            walkers.saw(at, _mean(cells))
            parts.append(cells)
        done = len(walkers.values)
        yield Picture(together(parts), done / len(tiles), whole=done == len(tiles))
    done = len(walkers.values)
    for some in _bunches([at for at in tiles if at not in walkers.values]):
        parts += [execution.pull(plan, each) for each in _joined(some, tiles)]
        done += len(some)
        yield Picture(together(parts), done / len(tiles), whole=done == len(tiles))


@dataclass(slots=True)
class Walkers:
    """Where walks are, and what they have seen; coordinates are those of tiles."""

    tiles: Sequence[Coordinate]
    walk: Walk
    values: dict[Coordinate, float] = field(default_factory=dict)
    _at: list[tuple[Coordinate, Coordinate]] = field(default_factory=list)
    _differences: list[float] = field(default_factory=list)
    _drawn: np.random.Generator = field(init=False)
    _stride: float = field(init=False)
    _wide: Mask = field(init=False)
    _there: frozenset[Coordinate] = field(init=False)

    def __post_init__(self) -> None:
        """Put the walks evenly over the surface."""
        self._drawn = np.random.default_rng(self.walk.seed)
        self._there = frozenset(self.tiles)
        lengths = np.ptp(np.array(self.tiles), axis=0) + 1
        self._wide = lengths > 1
        among = max(1, int(self._wide.sum()))
        self._stride = max(1.0, (len(self.tiles) / self.walk.walks) ** (1 / among))

    def steps(self) -> list[Coordinate]:
        """Return the next tile of each walk, none of them computed and none twice."""
        if not self._at:
            places = np.linspace(0, len(self.tiles) - 1, self.walk.walks + 2)[1:-1]
            begun = dict.fromkeys(self.tiles[int(each)] for each in places)
            self._at = [(each, each) for each in begun]
            return list(begun)
        found: dict[Coordinate, None] = {}
        for place in range(len(self._at)):
            if len(self.values) + len(found) == len(self.tiles):
                break
            found[self._next(place, found)] = None
        return list(found)

    def saw(self, at: Coordinate, value: float) -> None:
        """Take note of a tile's value."""
        self.values[at] = value

    def _next(self, place: int, taken: Mapping[Coordinate, None]) -> Coordinate:
        """Walk on until a tile is found that is not there."""
        for _ in range(TRIES):
            before, now = self._at[place]
            reached = self._step(before, now)
            self._at[place] = (now, reached)
            if reached in self.values or reached in taken:
                continue
            return reached
        left = [each for each in self.tiles if each not in self.values and each not in taken]
        anywhere = left[int(self._drawn.integers(len(left)))]
        self._at[place] = (anywhere, anywhere)
        return anywhere

    def _step(self, before: Coordinate, now: Coordinate) -> Coordinate:
        """Return where a step leads: back where the values differ much, else on (lines 9 to 15)."""
        ahead = np.subtract(now, before, dtype=float)
        apart = abs(self.values.get(now, np.nan) - self.values.get(before, np.nan))
        usual = 0.0
        if np.isfinite(apart) and now != before:
            self._differences.append(apart)
            usual = float(np.median(self._differences))
            if apart > usual:
                ahead = -ahead
        length = float(np.linalg.norm(ahead))
        mean = ahead / length if length else np.zeros(len(now))
        spread = 1.0 if not length or not usual else usual / (usual + apart)
        direction = self._drawn.normal(mean, spread) * self._wide
        size = float(np.linalg.norm(direction)) or 1.0
        far = max(1.0, float(self._drawn.random()) * self._stride)
        goal = tuple(int(each) for each in np.rint(np.array(now) + far * direction / size))
        return goal if goal in self._there else now


def tiles_of(region: Region, fold: int | None = None) -> dict[Coordinate, Region]:
    """Return the tiles of a region by their places: row and column of time, latitude, longitude."""
    counts = _counts(region)
    wide = max(1, -(-len(region.time) // counts[0]))
    if fold is not None:
        wide = min(wide, fold)
    times = _times(region.time, wide, fold)
    lats, lons = (axis.cut(count) for axis, count in zip(region.axes[1:], counts[1:], strict=True))
    return {
        (*at, north, east): Region(time, lat, lon)
        for at, time in times.items()
        for north, lat in enumerate(lats)
        for east, lon in enumerate(lons)
    }


def _times(time: Spans, wide: int, fold: int | None) -> dict[Coordinate, Spans]:
    """Return parts of time of at most so many cells, by row and column."""
    if fold is None:
        return {(0, at): each for at, each in enumerate(time.cut(-(-len(time) // wide)))}
    numbers = time.numbers()
    rows, columns = np.divmod(numbers, fold)
    found: dict[Coordinate, Spans] = {}
    first = int(rows.min())
    for row in np.unique(rows):
        for column in np.unique(columns[rows == row] // wide):
            begin = int(row * fold + column * wide)
            end = min(begin + wide, int((row + 1) * fold))
            part = time & Spans(np.array([begin]), np.array([end]))
            found[int(row) - first, int(column)] = part
    return found


def _counts(region: Region) -> tuple[int, int, int]:
    """Return into how many parts to cut each axis: time first, since its slices share nothing."""
    time = min(len(region.time), MOST_TILES)
    room = max(1, int((MOST_TILES // time) ** 0.5))
    return time, min(len(region.lat), room), min(len(region.lon), room)


def _below_maps(surface: Node) -> int:
    """Return how many perspectives come before the first interpolation: tiles share those."""
    kinds = [isinstance(each.function, Interpolate) for each in path(surface)]
    return kinds.index(True) if any(kinds) else 0


def _mean(cells: Cells) -> float:
    known: Floats = cells.value[~np.isnan(cells.value)]
    return float(known.mean()) if len(known) else float("nan")


def _bunches(left: Sequence[Coordinate]) -> list[Sequence[Coordinate]]:
    """Return the rest in parts, for a picture each."""
    size = max(1, -(-len(left) // PICTURES))
    return [left[begin : begin + size] for begin in range(0, len(left), size)]


def _joined(some: Sequence[Coordinate], tiles: Mapping[Coordinate, Region]) -> list[Region]:
    """Return tiles as few regions: those of one place together."""
    found: dict[Coordinate, Region] = {}
    for at in some:
        tile, place = tiles[at], at[2:]
        known = found.get(place)
        found[place] = tile if known is None else tile.along(TIME, known.time | tile.time)
    return list(found.values())
