"""Steering: queries stopped and started, rules enabled and disabled, by statements and by rules."""

from typing import TYPE_CHECKING

from penstock.model.definitions import QueryState
from penstock.model.rules import Steer
from penstock.runtime.rules import set_enabled

if TYPE_CHECKING:
    from penstock.runtime.system import System


def steer(system: "System", what: Steer) -> None:
    """Start or stop a query, enable or disable a rule, as an action asks; in any thread."""
    supervisor = system.supervisor
    with supervisor.at_rest(), system.catalog.together(), supervisor.changing():
        match what.verb:
            case "ENABLE" | "DISABLE":
                set_enabled(system, what.name, what.verb == "ENABLE")
            case "STOP":
                if what.name.lower() in system.plant.queries:
                    stop_query(system, what.name)
            case "START":
                live = system.plant.queries.get(what.name.lower())
                if live is None or live.state is not QueryState.RUNNING:
                    resume_query(system, what.name)


def stop_query(system: "System", name: str) -> str:
    """Stop a query; only at rest."""
    known = system.directory.query(name)
    system.withdraw(name)
    system.catalog.set_state(known.definition.name, QueryState.STOPPED, "")
    return f"query {name} stopped"


def resume_query(system: "System", name: str) -> str:
    """Let a query go on; only at rest."""
    known = system.directory.query(name)
    if (query := system.plant.queries.get(name.lower())) is not None:
        system.plant.resume(query)
        return f"query {name} runs"
    system.forget_late(known)
    system.run_query(known)
    system.catalog.set_state(known.definition.name, QueryState.RUNNING, "")
    system.supervisor.changed()
    return f"query {name} runs, from the next tuples on"
