"""The server's settings: a file, the environment and the command line, made one frozen value."""

from penstock.server.configuration.configuration import Configuration
from penstock.server.configuration.resolve import DEFAULT_FILE, resolved, unknown_variables
from penstock.server.configuration.settings import SETTINGS, Setting

__all__ = ["DEFAULT_FILE", "SETTINGS", "Configuration", "Setting", "resolved", "unknown_variables"]
