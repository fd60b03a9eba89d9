"""What rules reach outside: one file an action, one registry; action.py says what they promise."""

from penstock.engine.actions.action import Outside, TriggerBatch
from penstock.engine.actions.command import ProgramCall
from penstock.engine.actions.webhook import Webhook
from penstock.engine.options import near_miss
from penstock.errors import UnknownConnectorError
from penstock.model.definitions import Connector

ACTIONS: dict[str, type[ProgramCall | Webhook]] = {
    "command": ProgramCall,
    "webhook": Webhook,
}


def build(connector: Connector) -> Outside:
    """Return the action that a rule names, or raise what is wrong with it."""
    if connector.name not in ACTIONS:
        hint = near_miss(connector.name, ACTIONS)
        raise UnknownConnectorError(f"there is no action {connector.name}", hint=hint)
    return ACTIONS[connector.name](connector)


__all__ = ["ACTIONS", "Outside", "TriggerBatch", "build"]
