"""`system.rules`, the parts of a rule, and its dead letters."""

from collections.abc import Iterator

import pyarrow as pa

from penstock.catalog import Catalog
from penstock.engine.sinks.json_lines import json_lines
from penstock.model.definitions import QueryState
from penstock.model.rules import (
    Action,
    Alter,
    CallAction,
    Insert,
    OutsideAction,
    RuleDefinition,
    Steer,
)
from penstock.runtime.definitions.rules import find
from penstock.runtime.durable.pending_action import CONDITION, PendingAction
from penstock.runtime.durable.pending_actions import PendingActions
from penstock.runtime.names.directory import Directory, KnownRule
from penstock.runtime.topology.topology import Topology
from penstock.runtime.views.view import Row, View, columns, first_line
from penstock.runtime.work.live_rule import LiveRule, LiveTriggers

DEAD_COLUMNS = columns(
    "fired_at TIMESTAMP, action STRING, key STRING, tries BIGINT, cause STRING, tuple STRING"
)
RULE_PARTS = columns("part STRING, value STRING")
STATES = {QueryState.RUNNING: "ENABLED", QueryState.STOPPED: "DISABLED"}


def rule_rows(
    directory: Directory, catalog: Catalog, topology: Topology, pending_actions: PendingActions
) -> Iterator[Row]:
    """Yield a row for every rule, last those that could not be brought back."""
    for known in directory.rules():
        entry = catalog.get(known.definition.name)
        state = entry.state if entry is not None else None
        yield {
            "state": STATES.get(state or QueryState.RUNNING, "FAILED"),
            **_defined(known.definition),
            **_figures(
                *find(directory, topology, known.definition.name), topology, pending_actions
            ),
        }
    for entry in catalog.all():
        if entry.kind == "RULE" and directory.get(entry.name) is None:
            yield {"rule": entry.name, "state": "FAILED", "cause": first_line(entry.cause)}


def _defined(definition: RuleDefinition) -> Row:
    return {
        "rule": definition.name,
        "event": definition.event,
        "coupling": str(definition.coupling),
        "context": definition.context and str(definition.context),
        "priority": definition.priority,
    }


def _figures(
    each: LiveTriggers, rule: LiveRule, topology: Topology, pending_actions: PendingActions
) -> Row:
    figures = pending_actions.figures(rule.key)
    writer = topology.writers.get(each.input)
    held = f"its event is held: {writer.cause}" if writer is not None and writer.cause else ""
    return {
        "fired": figures.fired,
        "waiting": figures.waiting,
        "done": figures.done,
        "held_back": figures.held_back,
        "failures": figures.failures,
        "dead": figures.dead,
        "lost": figures.lost,
        "cause": first_line(rule.cause or held or figures.cause),
    }


def rule_parts(known: KnownRule) -> list[Row]:
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
        case CallAction(name):
            return f"CALL {name}"
        case OutsideAction(connector):
            return f"{connector.name}(…)"


def dead_letters(rule: LiveRule, pending_actions: PendingActions) -> pa.Table:
    """Return what a rule could not do, one row a tuple, the oldest first."""
    rows = [
        row
        for pending_action in pending_actions.dead(rule.key)
        for row in _letters(rule, pending_action)
    ]
    return pa.Table.from_pylist(rows, DEAD_COLUMNS)


def _letters(rule: LiveRule, pending_action: PendingAction) -> list[Row]:
    key = f"{pending_action.rule}.{pending_action.action}.{pending_action.origin}"
    return [
        {
            "fired_at": round(pending_action.at * 1e6),
            "action": _letter_text(rule, pending_action.action),
            "key": f"{key}.{pending_action.skipped + place}",
            "tries": pending_action.tries,
            "cause": pending_action.cause,
            "tuple": text,
        }
        for place, text in enumerate(json_lines(pending_action.rows).decode().splitlines())
    ]


def _letter_text(rule: LiveRule, action: int) -> str:
    if action == CONDITION:
        return f"WHEN {rule.definition.condition}"
    return action_text(rule.definition.actions[action])


RULES = View(
    "rules",
    "rules, and what became of what they fired",
    columns(
        "rule STRING, event STRING, coupling STRING, context STRING, priority BIGINT, "
        "state STRING, fired BIGINT, waiting BIGINT, done BIGINT, held_back BIGINT, "
        "failures BIGINT, dead BIGINT, lost BIGINT, cause STRING"
    ),
    lambda of: rule_rows(of.directory, of.catalog, of.topology, of.pending_actions),
)
