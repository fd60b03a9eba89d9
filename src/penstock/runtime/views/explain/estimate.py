"""EXPLAIN ESTIMATE: what a query is foretold to cost, beside all that runs."""

import math
from collections.abc import Callable, Iterator

from penstock.qos.load.load import load_of
from penstock.qos.load.network import HERE
from penstock.runtime.loop.supervisor import Supervisor
from penstock.runtime.names.directory import KnownQuery
from penstock.runtime.queries.admission_what_if import AdmissionWhatIf
from penstock.runtime.work.live_query import LiveQuery
from penstock.runtime.work.meter import Meter

MILLI, MEGA = 1000.0, 1e6


def estimate_text(
    known: KnownQuery,
    supervisor: Supervisor,
    what_if: Callable[[KnownQuery | None], AdmissionWhatIf],
    now: float,
) -> str:
    """Return what a query is foretold to cost, beside all that runs.

    `what_if` returns the plan with one query more, or as it is; it is called while quiesced.
    """
    name = known.definition.name.lower()
    with supervisor.resting():
        running = supervisor.topology.queries.get(name)
        plans = what_if(None), what_if(known)
        has_units = plans[1].has_units(name)
        lines = _lines(name, plans, running, now) if has_units else _without_units(running, now)
        return "\n".join([f"query {name}", *lines])


def _lines(
    name: str,
    plans: tuple[AdmissionWhatIf, AdmissionWhatIf],
    running: LiveQuery | None,
    now: float,
) -> Iterator[str]:
    before, after = plans
    at = after.name_of(name)
    found = after.plan.estimate()
    with_it, without = after.utilization, before.utilization
    needs = load_of(after.network)[HERE]
    promised = after.contracts()[at].max_latency
    limit = f"; max_latency {_seconds(promised)}" if math.isfinite(promised) else ""
    if running is not None:
        yield f"  load     {with_it:.3f} of the busiest part's time, with all that runs"
    else:
        both = f"{without:.3f} of the busiest part's time without it, {with_it:.3f} with it"
        yield f"  load     {both}"
    yield f"  needed   {needs:.3f} of each slot's time by tuples alone, with all that runs"
    told = after.foretold(name, found)
    yield f"  latency  {_seconds(told.latency)} on average, p99 about {_seconds(told.tail)}{limit}"
    yield f"  delay    {_seconds(told.delay)} of that on average"
    states = _size(after.plan.state_bytes)
    yield f"  memory   {_size(found.memory_bytes)} in buffers, {states} in states"
    measured, units = after.measured
    yield f"  figures  {measured} of {units} units have run; the others are taken at the mean cost"
    if running is not None:
        yield from _measured(running.meter, now)


def _without_units(running: LiveQuery | None, now: float) -> Iterator[str]:
    yield "  load     none of its own: the rows of its input are delivered as they come"
    if running is not None:
        yield from _measured(running.meter, now)


def _measured(meter: Meter, now: float) -> Iterator[str]:
    """Yield what the last minute was like, or nothing where nothing was delivered in it."""
    latency, delay = (
        [each.quantile(share, now) for share in (0.5, 0.99)]
        for each in (meter.latencies, meter.delays)
    )
    if latency[0] is not None:
        shown = [f"{_seconds(each or 0.0)}" for each in (*latency, *delay)]
        yield f"  measured {shown[0]} at p50, {shown[1]} at p99; delay {shown[2]}, {shown[3]}"


def _seconds(value: float) -> str:
    if math.isinf(value):
        return "for ever"
    return f"{value:.2f} s" if value >= 1 else f"{value * MILLI:.0f} ms"


def _size(value: float) -> str:
    return "unbounded" if math.isinf(value) else f"{value / MEGA:.2f} MB"
