"""Figures as tables of the report."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.many.scenarios import Scenario
from benchmarks.many.systems import Flink, Penstock
from benchmarks.many.throughput import STREAMING, Found
from benchmarks.measurement import Outcome, median, quantile, spread

MEGABYTE = 1_000_000
RATES = (
    "queries",
    "Penstock (rows/s)",
    "Structured Streaming (rows/s)",
    "ratio",
    "CPU ratio",
    "Flink SQL (rows/s)",
    "ratio",
    "CPU ratio",
)
CREATING = ("queries", "system", "1st", "10th", "100th", "1,000th", "MB Python a query", "MB heap")
STARTS = ("queries", "rows", "system", "seconds", "least", "greatest", "times Penstock's")
ADDING = (
    "standing",
    "added",
    "system",
    "probe",
    "p50 ms before",
    "while",
    "after",
    "ms to add one",
)
Scenarios = Sequence[tuple[Scenario, list[Found]]]


def rates(measured: Scenarios, notes: Sequence[str]) -> Outcome:
    """Return rows a second by number and kind of queries."""
    rows = [rate_row(scenario, found) for scenario, found in measured]
    raw = [
        {"kind": s.kind, "queries": s.queries, "found": [each.told() for each in found]}
        for s, found in measured
    ]
    told = [
        f"{scenario.name}: "
        + "; ".join(
            f"{each.system} {spread(each.rates)}" if each.rate else f"{each.system}: {each.cannot}"
            for each in found
        )
        for scenario, found in measured
    ]
    title = "Many queries over the same files, rows of input a second"
    return Outcome("throughput", title, RATES, rows, [*notes, *told], raw)


def rate_row(scenario: Scenario, found: Sequence[Found]) -> list[str]:
    """Return one scenario's line."""
    own = next(each for each in found if each.system == Penstock.name)
    stores = [each for each in found if each.system.startswith(STREAMING)]
    best = max(stores, key=lambda each: each.rate or 0, default=None)
    flink = next((each for each in found if each.system == Flink.name), None)
    return [scenario.name, _rate(own), *_beside(own, best), *_beside(own, flink)]


def starts(measured: Sequence[tuple[Scenario, Mapping[str, list[float]]]]) -> Outcome:
    """Return the seconds from the start of a process to the last answer."""
    rows, raw = [], []
    for scenario, found in measured:
        own = median(found[Penstock.name])
        load = scenario.size.load
        for system, seconds in found.items():
            took = median(seconds)
            figures = [f"{each:.1f}" for each in (took, min(seconds), max(seconds))]
            ratio = f"{took / own:.1f}x"
            rows.append([scenario.name, f"{load.rows * load.batches:,}", system, *figures, ratio])
            raw.append({"scenario": scenario.name, "system": system, "seconds": seconds})
    notes = [
        "From the start of a process to all rows of all queries in files; Java, Spark and the "
        "creation of the queries count. Each takes all files that wait at once. Rows compared.",
    ]
    return Outcome("start", "Start-up included", STARTS, rows, notes, raw)


def creating(measured: Sequence[Mapping[str, Any]]) -> Outcome:
    """Return how long the creation of a query takes, and what it holds."""
    rows = [
        [each["kind"], each["system"], *map(_nth(each), (1, 10, 100, 1_000)), *_growth(each)]
        for each in measured
    ]
    notes = [
        "One by one on a running system, ms; the median of the ten up to that query.",
        "Memory once garbage is collected, growth from one query to the last one.",
    ]
    title = "Creating queries one by one"
    return Outcome("create", title, CREATING, rows, notes, list(measured))


def adding(measured: Sequence[Mapping[str, Any]]) -> Outcome:
    """Return what queries that are added do to the latency of those that stand."""
    rows = [_adding_row(each, probe) for each in measured for probe in each["latencies"]]
    notes = ["From push to subscriber; each added query by itself, one after the other."]
    title = "Adding queries to a running system"
    return Outcome("add", title, ADDING, rows, notes, list(measured))


def _adding_row(each: Mapping[str, Any], probe: str) -> list[str]:
    begin, end = each["added"]
    since = begin - each["before_seconds"]
    points = each["latencies"][probe]
    spans = ((since, begin), (begin, end), (end, float("inf")))
    shown = [_middle([ms for at, ms in points if low <= at < high]) for low, high in spans]
    took = _middle([1000 * seconds for seconds in each["seconds"]])
    names = [f"{each['standing']:,} {each['kind']}", f"{len(each['seconds']):,}", each["system"]]
    return [*names, probe, *shown, took]


def _middle(values: Sequence[float]) -> str:
    if not values:
        return ""
    return f"{median(values):.0f} (p99 {quantile(values, 0.99):.0f})"


def _nth(each: Mapping[str, Any]) -> Any:
    def shown(number: int) -> str:
        seconds = each["seconds"][max(0, number - 10) : number]
        return f"{1000 * median(seconds):.0f}" if len(each["seconds"]) >= number else ""

    return shown


def _growth(each: Mapping[str, Any]) -> list[str]:
    first, last = each["memory"][min(1, len(each["memory"]) - 1)], each["memory"][-1]
    count = max(1, last["queries"] - first["queries"])
    return [f"{(last[k] - first[k]) / count / MEGABYTE:.2f}" for k in ("python", "heap")]


def _rate(found: Found) -> str:
    return f"{found.rate:,.0f}" if found.rate else "cannot"


def _beside(own: Found, peer: Found | None) -> list[str]:
    if peer is None:
        return ["", "", ""]
    if not (own.rate and peer.rate and own.cpu_a_million and peer.cpu_a_million):
        return [_rate(peer), "", ""]
    cpu = peer.cpu_a_million / own.cpu_a_million
    return [_rate(peer), f"{own.rate / peer.rate:.2f}x", f"{cpu:.2f}x"]
