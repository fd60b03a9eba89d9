"""Frames of the feed: all that is known, and what changed since the frame before, as events.

Each is made once, however many read it. A reader that has missed a frame gets all of the next.
"""

import json
import math
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from penstock.runtime.views.view import Row
from penstock.server.http.answers import event
from penstock.server.page.live.attention import Attention, Item
from penstock.server.page.live.curves import Curves
from penstock.server.page.live.happenings import Happening, happenings
from penstock.server.page.live.overview import Point, overview, point
from penstock.server.page.live.rates import Rates
from penstock.server.page.live.sample import Sample, Table

POINTS_SECONDS = 600.0
MOST_HAPPENINGS = 500


@dataclass(frozen=True)
class Frame:
    """One sample as it is told. `history` is what led to it."""

    number: int
    told: Mapping[str, Any]
    tables: Mapping[str, Table]
    changes: Mapping[str, Any]
    points: tuple[Point, ...]
    happened: tuple[Happening, ...]
    curves: Curves

    @cached_property
    def whole(self) -> bytes:
        """Return the event that tells all of it."""
        history = {"points": self.points, "happened": [asdict(each) for each in self.happened]}
        kept = {"tables": self.tables, "curves": self.curves.told()}
        return frame_event("all", {**self.told, **history, **kept}, self.number)

    @cached_property
    def change(self) -> bytes:
        """Return the event that tells what is not as in the frame before."""
        return frame_event("change", {**self.told, **self.changes}, self.number)


@dataclass(slots=True)
class Frames:
    """Makes a frame of each sample; used by one thread."""

    _attention: Attention = field(default_factory=Attention)
    _rates: Rates = field(default_factory=Rates)
    _points: deque[Point] = field(default_factory=deque)
    _happened: deque[Happening] = field(default_factory=deque)
    _curves: Curves = field(default_factory=Curves)
    _before: Sample | None = None
    _tables: Mapping[str, Table] = field(default_factory=dict)
    _shape: int = 0
    _number: int = 0

    def of(self, now: Sample) -> Frame:
        """Return the next frame."""
        items = self._attention.items(now)
        units = self._rates.of(now.at, now.units, now.load["slots"])
        tables = {**now.tables(), "units": units}
        told_over_all = overview(now, self._attention.checkpoint_at)
        self._points.append(point(now.at, told_over_all))
        while self._points[0][0] < now.at - POINTS_SECONDS:
            self._points.popleft()
        happened = self._note(now)
        changes = {
            "point": self._points[-1],
            "happened": [asdict(each) for each in happened],
            "tables": changed(self._tables, tables),
            **self._draw(now.at, tables),
        }
        self._tables, self._number = tables, self._number + 1
        told = _told(now.at, told_over_all, items, self._shape)
        points, all_happened = tuple(self._points), tuple(self._happened)
        return Frame(self._number, told, tables, changes, points, all_happened, self._curves)

    def _draw(self, at: float, tables: Mapping[str, Table]) -> dict[str, Any]:
        """Make the curves of queries and units longer where that is due; return what to tell."""
        point = self._curves.due(at, tables["queries"], tables["units"])
        if point is None:
            return {}
        self._curves = self._curves.with_point(point)
        return {"curve": asdict(point)}

    def _note(self, now: Sample) -> list[Happening]:
        """Remember what happened since the sample before, and whether the graph is another."""
        before, self._before = self._before, now
        if before is None:
            return []
        self._shape += before.shape() != now.shape()
        happened = happenings(before, now)[-MOST_HAPPENINGS:]
        self._happened.extend(happened)
        while len(self._happened) > MOST_HAPPENINGS or (
            self._happened and self._happened[0].at < now.at - POINTS_SECONDS
        ):
            self._happened.popleft()
        return happened


def changed(before: Mapping[str, Table], now: Mapping[str, Table]) -> dict[str, Any]:
    """Return for each table the columns that are other than before, and the rows that are gone."""
    found = {}
    for name, table in now.items():
        old = before.get(name, {})
        rows = {each: _changed_row(old.get(each), row) for each, row in table.items()}
        found[name] = {
            "set": {each: row for each, row in rows.items() if row},
            "gone": sorted(old.keys() - table.keys()),
        }
    return found


def _changed_row(before: Row | None, now: Row) -> Row:
    if before is None:
        return now
    return {name: value for name, value in now.items() if before.get(name, ...) != value}


def _told(at: float, told: Row, items: list[Item], shape: int) -> dict[str, Any]:
    attention = [{"key": each.key, **asdict(each)} for each in items]
    return {"at": at, "overview": told, "attention": attention, "shape": shape}


def _written(told: Any) -> str:
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"), default=str, allow_nan=False)


def _finite(told: Any) -> Any:
    """Return the same with null for what is no number, or no finite one."""
    match told:
        case float():
            return told if math.isfinite(told) else None
        case Mapping():
            return {name: _finite(value) for name, value in told.items()}
        case list() | tuple():
            return [_finite(value) for value in told]
        case _:
            return told


def frame_event(name: str, told: Mapping[str, Any], number: int | None = None) -> bytes:
    """Return one event of the feed."""
    try:
        text = _written(told)
    except ValueError:  # JSON has no number for it, and one of them would end every page's feed
        text = _written(_finite(told))
    return event(name, text, number)
