"""Who asks, and what they may: tokens, roles, rights, and the record of changes."""

from penstock.server.access.caller import LOCAL, Caller, Role

__all__ = ["LOCAL", "Caller", "Role"]
