"""What needs somebody's attention in a sample, and since when: pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from penstock.runtime.views.view import Row
from penstock.server.page.live.sample import Sample

Tone = Literal["bad", "warn"]

NEAR = 0.8  # of what was promised: from there on a contract is in danger
LAG_SECONDS = 30.0  # beyond its slack; a stream whose rows come is behind its own time
RECENT_SECONDS = 600.0  # how long what was left aside counts as news
CHECKPOINT_SECONDS = 60.0  # several intervals: a crash would repeat that much
FULL, OVER = 0.9, 1.0  # of the load that is foreseen


@dataclass(frozen=True, slots=True)
class Item:
    """One thing: `kind` says what can be done, `name` with what; `since` when it was first seen."""

    kind: str
    name: str
    tone: Tone
    title: str
    cause: str = ""
    since: float | None = None

    @property
    def key(self) -> str:
        """Return what tells it from others while it lasts."""
        return f"{self.kind} {self.name}"


@dataclass(slots=True)
class Attention:
    """Remembers since when things last, when rows were last left aside, and the last checkpoint."""

    _since: dict[str, float] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)
    _grew: dict[str, float] = field(default_factory=dict)
    _checkpoint: int = 0
    checkpoint_at: float | None = None

    def items(self, now: Sample) -> list[Item]:
        """Return what needs attention now: what is broken first, then the oldest."""
        self._note_checkpoint(now)
        found = [
            *_queries(now),
            *_streams(now),
            *self._rejects(now),
            *_units(now),
            *_rules(now),
            *self._load(now),
        ]
        self._since = {each.key: self._since.get(each.key, now.at) for each in found}
        dated = [
            each if each.since is not None else replace(each, since=self._since[each.key])
            for each in found
        ]
        return sorted(dated, key=lambda each: (each.tone != "bad", each.since or 0, each.key))

    def _note_checkpoint(self, now: Sample) -> None:
        if now.system["checkpoint"] != self._checkpoint:
            self._checkpoint, self.checkpoint_at = now.system["checkpoint"], now.at

    def _rejects(self, now: Sample) -> Iterator[Item]:
        """Yield streams that have rejected rows lately, and queries that came too late for some."""
        for name, row in now.streams.items():
            if self._has_grown(f"rejects {name}", row["rejected"], now.at):
                cause = f"{row['rejected']:,} rows did not fit its columns"
                yield Item("rejects", name, "warn", f"Stream {name} rejects rows", cause)
        for name, row in now.queries.items():
            if self._has_grown(f"late {name}", row.get("late_rows", 0), now.at):
                cause = f"{row['late_rows']:,} rows came too late for its windows"
                yield Item("late", name, "warn", f"Query {name} misses late rows", cause)

    def _has_grown(self, key: str, count: int, at: float) -> bool:
        """Say whether a count grew in the last minutes; what it was at first is no news."""
        before, self._counts[key] = self._counts.get(key, count), count
        if count > before:
            self._grew[key] = at
        return count > 0 and at - self._grew.get(key, -RECENT_SECONDS) < RECENT_SECONDS

    def _load(self, now: Sample) -> Iterator[Item]:
        soon = now.load["needed_soon"]
        if soon > FULL:
            tone: Tone = "bad" if soon > OVER else "warn"
            waits = now.load["waits_s"]
            cause = f"{soon:.0%} of what can be done is foreseen; what waits takes {waits:.1f} s"
            title = "More comes than can be done" if soon > OVER else "There is hardly room left"
            yield Item("load", "", tone, title, cause)
        at = self.checkpoint_at
        works = any(row["rows_per_s"] for row in now.streams.values())
        if works and at is not None and now.at - at > CHECKPOINT_SECONDS:
            cause = "after a crash, all that was done since would be done again"
            yield Item("checkpoint", "", "warn", "The last checkpoint is old", cause, at)


def _queries(now: Sample) -> Iterator[Item]:
    for name, row in now.queries.items():
        cause = row["cause"]
        match row["state"]:
            case "FAILED":
                yield Item("held", name, "bad", f"Query {name} is held", cause)
            case "SUSPENDED":
                title, since = f"Query {name} is suspended", row.get("suspended_since")
                dated = None if since is None else since / 1e6
                yield Item("suspended", name, "warn", title, cause, dated)
            case "WAITING":
                yield Item("waiting", name, "warn", f"Query {name} waits for room", cause)
            case "RUNNING" if row.get("verdict") == "broken":
                title = f"Query {name} breaks its contract"
                yield Item("contract", name, "bad", title, _promised(row))
            case "RUNNING" if _is_near(row):
                title = f"Query {name} is close to breaking its contract"
                yield Item("contract", name, "warn", title, _promised(row))


def _is_near(row: Row) -> bool:
    most, p99 = row.get("max_latency_ms"), row.get("contract_p99_ms")
    if row.get("verdict") != "kept" or most is None or p99 is None:
        return False
    return bool(p99 > NEAR * most)


def _promised(row: Row) -> str:
    told = []
    if most := row.get("max_latency_ms"):
        p99 = row.get("contract_p99_ms")
        seen = "no answer yet" if p99 is None else f"p99 is {p99:,.0f} ms"
        told.append(f"latency: {seen}, {most:,.0f} ms were promised")
    if allowed := row.get("max_error"):
        error = row.get("error_p95")
        seen = "not known yet" if error is None else f"p95 is {error:.1%}"
        told.append(f"error: {seen}, {allowed:.1%} is allowed")
    return "; ".join(told)


def _streams(now: Sample) -> Iterator[Item]:
    for name, row in now.streams.items():
        lag, slack = row["lag_s"], row["slack_s"]
        if row["state"] == "FAILED":
            yield Item("stream", name, "bad", f"Stream {name} cannot be read", row["cause"])
        elif row["cause"]:
            yield Item("stream", name, "warn", f"Stream {name} has trouble", row["cause"])
        elif row["rows_per_s"] and lag is not None and lag > slack + LAG_SECONDS:
            cause = f"its watermark is {lag:,.0f} s behind the clock, its slack is {slack:,.0f} s"
            yield Item("lag", name, "warn", f"Stream {name} lags", cause)


def _units(now: Sample) -> Iterator[Item]:
    """Yield units that are held although no query says so, such as those of rules' events."""
    held = {row["cause"] for row in now.queries.values() if row["state"] == "FAILED"}
    for name, row in now.units.items():
        if row["cause"] and row["cause"] not in held:
            yield Item("unit", name, "bad", f"Unit {name[:6]} is held", row["cause"])


def _rules(now: Sample) -> Iterator[Item]:
    for name, row in now.rules.items():
        if row["state"] == "FAILED":
            yield Item("rule", name, "bad", f"Rule {name} does not stand", row["cause"])
        elif row["dead"]:
            title = f"Rule {name} has {row['dead']:,} dead letters"
            yield Item("dead", name, "warn", title, row["cause"])
        elif row["cause"]:
            yield Item("rule", name, "warn", f"Rule {name} has trouble", row["cause"])
