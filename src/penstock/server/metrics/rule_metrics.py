"""What rules fired, did and could not do, in tuples."""

from collections.abc import Iterator, Sequence

from prometheus_client.metrics_core import Metric

from penstock.runtime.durable.pending_action import RuleFigures
from penstock.runtime.durable.pending_actions import PendingActions
from penstock.runtime.topology.topology import Topology
from penstock.server.metrics.figure import Counter, Figure, Gauge, families

LABELS = ("rule",)

RULE_FIGURES: Sequence[Figure[RuleFigures]] = (
    Counter("penstock_rule_fired", "Tuples for which a rule has fired.", lambda r: r.fired),
    Counter(
        "penstock_rule_done", "Tuples for which an action of a rule is done.", lambda r: r.done
    ),
    Counter(
        "penstock_rule_failures", "Tries of a rule's actions that failed.", lambda r: r.failures
    ),
    Counter(
        "penstock_rule_held_back",
        "Tuples that waited for a rule's rate, or found its queue full.",
        lambda r: r.held_back,
    ),
    Counter(
        "penstock_rule_lost", "Dead letters of a rule that were too many to keep.", lambda r: r.lost
    ),
    Gauge("penstock_rule_waiting", "Tuples that wait for a rule's actions.", lambda r: r.waiting),
    Gauge("penstock_rule_dead_letters", "Tuples that a rule could not act on.", lambda r: r.dead),
)


def rule_metrics(topology: Topology, pending_actions: PendingActions) -> Iterator[Metric]:
    """Yield the metrics of all rules that run."""
    figures, nothing = pending_actions.all_figures(), RuleFigures()
    seen = [
        ((rule.name,), figures.get(rule.key, nothing))
        for batch in list(topology.trigger_batches.values())
        for rule in list(batch.rules.values())
    ]
    return families(RULE_FIGURES, LABELS, seen)
