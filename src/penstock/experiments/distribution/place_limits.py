"""E-1, E-2, E-3: what one processor bears of requests, searching and connections."""

from dataclasses import replace

from penstock.experiments.distribution.cluster_runs import COSTS, RR, SAME, seconds_of, setting_of
from penstock.experiments.trial import Effort
from penstock.sim.distribution.operator_plan import plan_of
from penstock.sim.distribution.simulation import (
    ClusterOutcome,
    Setting,
    processors_of,
    simulate_cluster,
)
from penstock.sim.report import Claim, Report

REQUESTS = (0, 10, 25, 50, 100, 200, 400, 700, 1000)
SAFE_REQUESTS = 50
SMALL_DROP = 0.05
SEARCH_SECONDS = 1.5e-6  # a tuple and operator, where queues are searched for by name
REPLICAS = (1, 2, 4, 5, 6, 8, 10, 12, 16)
SAFE_CONNECTIONS = (8, 12)
BUSY_RATE = 300.0  # tuples a second of each stream of E-3, which asks what saturates a processor


def place_requests(_seed: int, effort: Effort) -> Report:
    """Send a processor more and more requests while it works on plan 2."""
    setting = setting_of("plan 2", 2.0, 1, RR)
    made = {
        many: simulate_cluster(replace(setting, requests=many), seconds_of(effort)).throughput
        for many in REQUESTS
    }
    free = made[0]
    return Report(
        "E-1: connection requests to one processor",
        f"Plan 2 (20 operators, 5 joins), window 2 s; none: {free / 1000:,.0f} thousand tuples",
        ("requests a second", "throughput of that without"),
        tuple((many, each / free if free else 0.0) for many, each in made.items()),
        (
            Claim(
                "50 requests a second do not lower the throughput (by 5 %)",
                made[SAFE_REQUESTS] >= (1 - SMALL_DROP) * free,
            ),
            Claim("1,000 do", made[REQUESTS[-1]] < (1 - SMALL_DROP) * free),
        ),
    )


def place_lookups(_seed: int, effort: Effort) -> Report:
    """Compare queues that are searched for with queues that are hashed, over 40 operators."""
    hashed = setting_of("plan 3", 10.0, 1, RR)
    many = len(hashed.plan.operators)
    searched = replace(hashed, costs=replace(COSTS, lookup=SEARCH_SECONDS * many / 2))
    seconds = seconds_of(effort)
    found = {
        "searched": simulate_cluster(searched, seconds),
        "hashed": simulate_cluster(hashed, seconds),
    }
    lookups = {"searched": _lookup_share(searched), "hashed": 0.0}
    execution = {name: _engine(each) * (1 - lookups[name]) for name, each in found.items()}
    gain = found["hashed"].throughput / max(found["searched"].throughput, 1e-9)
    return Report(
        "E-2: queues found by search and by hash",
        "Plan 3 (40 operators), window 10 s, one processor; a search costs what is declared",
        ("strategy", "thousand tuples", "execution s", "handling s"),
        tuple(
            (name, each.throughput / 1000, execution[name], sum(each.handling_seconds.values()))
            for name, each in found.items()
        ),
        (
            Claim("execution gets more of the CPU", execution["hashed"] > execution["searched"]),
            Claim("10 % more comes out (5 to 15 %)", 1.05 <= gain <= 1.15),  # noqa: PLR2004
        ),
    )


def place_connections(_seed: int, effort: Effort) -> Report:
    """Put one operator on a processor several times, each with connections of its own."""
    costs = replace(COSTS, stream_rate=BUSY_RATE)
    plan = plan_of(1)
    rows = []
    for many in REPLICAS:
        setting = Setting(
            plan, 0.0, {plan.operators[0].name: "processor 1"}, processors_of(1, costs), costs
        )
        outcome = simulate_cluster(replace(setting, replicas=many), seconds_of(effort))
        whole = _engine(outcome) + sum(outcome.handling_seconds.values())
        offered = BUSY_RATE * many * len(outcome.delivered)
        rows.append(
            (2 * many, outcome.throughput / offered, _engine(outcome) / whole if whole else 0.0)
        )
    kept = {connections: part for connections, part, _ in rows}
    last, first = rows[-1], rows[0]
    few, many_ = SAFE_CONNECTIONS
    return Report(
        "E-3: connections of one processor",
        f"One operator a stream of {BUSY_RATE:g} tuples a second, in and out",
        ("connections", "output of input", "engine's share"),
        tuple(rows),
        (
            Claim("the engine's share falls with connections", last[2] < first[2]),
            Claim("8 connections lower no output", kept[few] >= 1 - SAME),
            Claim("beyond 12 the output falls", last[1] < kept[many_]),
        ),
    )


def _engine(outcome: ClusterOutcome) -> float:
    return sum(outcome.engine_seconds.values())


def _lookup_share(setting: Setting) -> float:
    """Return the part of the engine's time that goes into searching."""
    plan, window, costs = setting.plan, setting.window, setting.costs
    whole = sum(costs.load(plan, each, window) for each in plan.operators)
    plain = replace(costs, lookup=0.0)
    return 1 - sum(plain.load(plan, each, window) for each in plan.operators) / whole
