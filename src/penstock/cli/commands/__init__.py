"""The commands there are, in the order in which `penstock --help` lists them."""

from penstock.cli.commands.command import Command
from penstock.cli.commands.demo import DEMO
from penstock.cli.commands.explain import EXPLAIN
from penstock.cli.commands.run import RUN
from penstock.cli.commands.sql import SQL

COMMANDS: tuple[Command, ...] = (RUN, SQL, EXPLAIN, DEMO)
