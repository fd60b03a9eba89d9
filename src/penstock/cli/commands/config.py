"""`penstock config`: the settings of a server that are in force, and where each comes from."""

import argparse
import os
import sys

from penstock.cli.commands.command import Command
from penstock.cli.commands.settings_flags import add_settings, given
from penstock.server.configuration import resolved, unknown_variables

ABOUT = """Show every setting of penstock serve as it is in force, and where it comes from: an
option, a PENSTOCK_* variable, the file, or the default. The output is a file of settings."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Print the settings as TOML."""
    for line in unknown_variables(os.environ):
        print(line, file=sys.stderr)
    configuration = resolved(given(args), os.environ, args.config)
    section = ""
    for setting, value, origin in configuration.shown():
        head, _, name = setting.place.rpartition(".")
        if head != section:
            print(f"\n[{head}]")
            section = head
        print(f"{name} = {value}  # {origin}")
    for token in configuration.tokens:
        print(f"\n[tokens.{_key(token.name)}]")
        for name, held in token.entry().items():
            print(f"{name} = {_shown(held)}")
    return 0


def _key(name: str) -> str:
    return f'"{name}"' if set(name) & set(".@") else name


def _shown(value: object) -> str:
    return f"[{', '.join(map(_shown, value))}]" if isinstance(value, list) else f'"{value}"'


COMMAND = Command(ABOUT, add_arguments, run)
