"""SHOW RULES, DESCRIBE a rule, and a rule's dead letters, as rows."""

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.engine.sinks.json_lines import json_lines
from penstock.model.definitions import QueryState
from penstock.model.rules import Action, Alter, Call, Insert, Reach, Steer
from penstock.runtime.durable.firing import CONDITION, Firing
from penstock.runtime.names.directory import KnownRule
from penstock.runtime.system.rules import find
from penstock.runtime.work.live_rule import LiveRule

if TYPE_CHECKING:
    from penstock.runtime.system.system import System

RULE_COLUMNS = pa.schema(
    [
        ("rule", pa.string()),
        ("event", pa.string()),
        ("coupling", pa.string()),
        ("context", pa.string()),
        ("priority", pa.int64()),
        ("state", pa.string()),
        *((name, pa.int64()) for name in ("fired", "waiting", "done", "held_back", "failures")),
        *((name, pa.int64()) for name in ("dead", "lost")),
        ("cause", pa.string()),
    ]
)
DEAD_COLUMNS = pa.schema(
    [
        ("fired_at", pa.timestamp("us", "UTC")),
        ("action", pa.string()),
        ("key", pa.string()),
        ("tries", pa.int64()),
        ("cause", pa.string()),
        ("tuple", pa.string()),
    ]
)
PART_COLUMNS = pa.schema([("part", pa.string()), ("value", pa.string())])
STATES = {QueryState.RUNNING: "ENABLED", QueryState.STOPPED: "DISABLED"}


def rule_rows(system: "System") -> list[dict[str, Any]]:
    """Return the rules with their figures."""
    rows = [_row(system, each) for each in system.directory.rules()]
    for entry in system.catalog.all():
        if entry.kind == "RULE" and system.directory.get(entry.name) is None:
            cause = entry.cause.partition("\n")[0]
            rows.append({"rule": entry.name, "state": "FAILED", "cause": cause})
    return rows


def _row(system: "System", known: KnownRule) -> dict[str, Any]:
    definition = known.definition
    each, rule = find(system.directory, system.topology, definition.name)
    figures = system.firings.figures(rule.key)
    writer = system.topology.writers.get(each.input)
    held = f"its event is held: {writer.cause}" if writer is not None and writer.cause else ""
    entry = system.catalog.get(definition.name)
    state = entry.state if entry is not None else None
    return {
        "rule": definition.name,
        "event": definition.event,
        "coupling": str(definition.coupling),
        "context": definition.context and str(definition.context),
        "priority": definition.priority,
        "state": STATES.get(state or QueryState.RUNNING, "FAILED"),
        "fired": figures.fired,
        "waiting": figures.waiting,
        "done": figures.done,
        "held_back": figures.held_back,
        "failures": figures.failures,
        "dead": figures.dead,
        "lost": figures.lost,
        "cause": (rule.cause or held or figures.cause).partition("\n")[0],
    }


def described(known: KnownRule) -> list[dict[str, str]]:
    """Return what a rule is made of."""
    definition, limits = known.definition, known.definition.limits
    parts = [
        ("event", definition.event),
        ("context", str(definition.context or "")),
        ("condition", definition.condition or "every tuple"),
        ("coupling", str(definition.coupling)),
        ("priority", str(definition.priority)),
        *((f"action {n}", action_text(each)) for n, each in enumerate(definition.actions, 1)),
        ("timeout", f"{limits.timeout.total_seconds():g} s"),
        ("retries", f"{limits.retries}, the first after {limits.backoff.total_seconds():g} s"),
        ("rate", "" if limits.rate is None else f"{limits.rate:g} a second"),
        ("queue", f"{limits.queue:,} tuples, and {limits.dead:,} dead letters"),
    ]
    return [{"part": part, "value": value} for part, value in parts if value]


def action_text(action: Action) -> str:
    """Return an action in a few words, without what may be secret."""
    match action:
        case Insert(target, values, _, "RAISE"):
            return f"RAISE {target}({', '.join(values)})"
        case Insert(target, values, columns):
            listed = f" ({', '.join(columns)})" if columns else ""
            return f"INSERT INTO {target}{listed} SELECT {', '.join(values)}"
        case Steer("ENABLE" | "DISABLE" as verb, name):
            return f"ALTER RULE {name} {verb}"
        case Steer(verb, name):
            return f"{verb} QUERY {name}"
        case Alter(name, terms):
            return f"ALTER QUERY {name} SET ({', '.join(terms.names)})"
        case Call(name):
            return f"CALL {name}"
        case Reach(connector):
            return f"{connector.name}(…)"


def dead_letters(system: "System", name: str) -> pa.Table:
    """Return what a rule could not do, one row a tuple, the oldest first."""
    _, rule = find(system.directory, system.topology, name)
    rows = [row for firing in system.firings.dead(rule.key) for row in _letters(rule, firing)]
    return pa.Table.from_pylist(rows, DEAD_COLUMNS)


def _letters(rule: LiveRule, firing: Firing) -> list[dict[str, Any]]:
    return [
        {
            "fired_at": round(firing.at * 1e6),
            "action": _letter_text(rule, firing.action),
            "key": f"{firing.rule}.{firing.action}.{firing.origin}.{firing.skipped + place}",
            "tries": firing.tries,
            "cause": firing.cause,
            "tuple": text,
        }
        for place, text in enumerate(json_lines(firing.rows).decode().splitlines())
    ]


def _letter_text(rule: LiveRule, action: int) -> str:
    if action == CONDITION:
        return f"WHEN {rule.definition.condition}"
    return action_text(rule.definition.actions[action])
