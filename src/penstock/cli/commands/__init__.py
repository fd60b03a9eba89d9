"""The commands there are: `penstock NAME` is `COMMAND` in the file of that name.

They are loaded when they are used, so that `penstock --help` need not wait for Arrow and Spark.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `penstock --help` loads no command
    from penstock.cli.commands.command import Command

# In the order in which `penstock --help` lists them.
COMMANDS = {
    "run": "run a script and print what its queries find",
    "sql": "open a shell",
    "serve": "serve a home to many clients, by HTTP and PostgreSQL's protocol",
    "config": "show the settings of a server, and where each comes from",
    "token": "make, list and revoke the tokens of a server",
    "connectors": "list what streams read from and queries write to, and its options",
    "explain": "show how a script would run",
    "demo": "watch a scene of half a minute",
    "prepare": "make Spark start in half of the time from now on",
    "check": "look whether everything in a home is whole",
    "repair": "mend what can be mended in a home",
    "simulate": "repeat a scheduling experiment on a virtual clock",
}


def load(name: str) -> "Command":
    """Return a command that is listed."""
    command: Command = import_module(f"{__name__}.{name}").COMMAND
    return command
