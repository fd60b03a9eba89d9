"""Steering actions: rules that start, stop and alter queries, enable and disable rules."""

from dataclasses import dataclass

from penstock.model.definitions import QueryState
from penstock.model.rules import Alter, Steer, Verb
from penstock.runtime.definitions.rules import Rules
from penstock.runtime.loop.graph_cutter import GraphCutter
from penstock.runtime.loop.quiescence import Quiescence
from penstock.runtime.queries.query_lifecycle import QueryLifecycle


@dataclass(frozen=True, slots=True)
class SteeringActions:
    """Performed in any thread."""

    quiescence: Quiescence
    cutter: GraphCutter
    lifecycle: QueryLifecycle
    rules: Rules

    def perform(self, what: Steer | Alter) -> None:
        """Do what an action asks, or nothing where that is so already."""
        together = self.lifecycle.catalog.together
        with self.quiescence.quiesced(), together(), self.cutter.changing():
            match what:
                case Alter(name, terms):
                    self.lifecycle.alter(name, terms)
                case Steer(verb, name):
                    self._turn(verb, name)

    def _turn(self, verb: Verb, name: str) -> None:
        topology = self.quiescence.topology
        live = topology.queries.get(name.lower())
        match verb:
            case "ENABLE" | "DISABLE":
                self.rules.set_enabled(name, enabled=verb == "ENABLE")
            case "STOP":
                if topology.find_query(name) is not None:
                    self.lifecycle.stop(name)
            case "START":
                if live is None or live.state is not QueryState.RUNNING:
                    self.lifecycle.resume(name)
