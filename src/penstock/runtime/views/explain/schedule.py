"""EXPLAIN SCHEDULE: who runs next and why, or what a simulation starts from."""

import json
import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

from penstock.plan.explain.abridged import few
from penstock.plan.sharing.units import Unit
from penstock.runtime.loop.dispatch.run_queue import Ready
from penstock.runtime.loop.supervisor import Supervisor
from penstock.runtime.views.explain.simulation_input import simulation_input
from penstock.runtime.views.relations.topology.units import queries_served, short
from penstock.schedule import Observation, Strategy
from penstock.schedule.costs.observation import Average
from penstock.schedule.strategies.reasons import priority_of, reason

HEAD = ("unit", "queries", "priority", "cost us", "selectivity", "in/s", "queued", "due in s", "")


def schedule_text(supervisor: Supervisor, now: float) -> str:
    """Return who runs next and why."""
    with supervisor.resting():
        supervisor.statistics.asked = now
        return _text(supervisor, now)


def schedule_json(supervisor: Supervisor, now: float) -> str:
    """Return what a simulation starts from."""
    with supervisor.resting():
        supervisor.statistics.asked = now
        return json.dumps(simulation_input(supervisor, now), indent=1)


def _text(supervisor: Supervisor, now: float) -> str:
    control, topology = supervisor.control, supervisor.topology
    ready = control.dispatcher.run_queue.look(now)
    seen = control.dispatcher.statistics.observation(topology, now)
    control.strategy.observe(seen)
    # A copy is asked: a question must not be a turn.
    chosen = deepcopy(control.strategy.strategy).next([each.unit for each in ready.values()], now)
    look = _ScheduleLook(control.strategy.strategy, seen, chosen, now)
    served = queries_served(topology)
    rows = [
        look.row(live.unit, served.get(name, []), ready.get(name))
        for name, live in topology.units.items()
    ]
    rows.sort(key=lambda row: (not row[-1], row[0]))
    lines = [
        f"strategy {control.text()}, batching {control.batching.text()}",
        f"{supervisor.slots} slots, {len(rows)} units, {len(ready)} ready",
        "",
        *_table([HEAD, *rows]),
        "",
    ]
    if chosen is None or chosen not in ready:
        return "\n".join([*lines, "next: none is ready"])
    why = reason(control.strategy.strategy, ready[chosen].unit, now)
    return "\n".join([*lines, f"next: {short(chosen)}, because {why}"])


@dataclass(frozen=True, slots=True)
class _ScheduleLook:
    """What a strategy sees at a moment, and which unit it would choose."""

    strategy: Strategy
    seen: Observation
    chosen: str | None
    now: float

    def row(self, unit: Unit, queries: Sequence[str], ready: Ready | None) -> tuple[str, ...]:
        figures, priority = self.seen.unit(unit.key), priority_of(self.strategy, unit.key)
        due = ready.unit.deadline - self.now if ready is not None else math.inf
        state = "next" if unit.key == self.chosen else "ready" if ready is not None else ""
        return (
            short(unit.key),
            few(sorted(queries)),
            "" if priority is None else f"{priority:.4g}",
            _figure(figures.seconds, 1e6),
            _figure(figures.selectivity, 1.0),
            _figure(figures.rate, 1.0),
            f"{figures.queued_rows:,}",
            "" if math.isinf(due) else f"{due:.1f}",
            state,
        )


def _figure(average: Average, unit: float) -> str:
    value = average.or_else(math.nan)
    return "?" if math.isnan(value) else f"{value * unit:.4g}"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
