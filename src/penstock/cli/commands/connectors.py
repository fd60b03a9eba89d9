"""`penstock connectors`: what streams read from and queries write to."""

import argparse
from collections.abc import Iterable

import pyarrow as pa

from penstock.cli.commands.command import Command
from penstock.cli.formats.table_format import fitted
from penstock.cli.screen import Screen
from penstock.engine.connectors import CONNECTORS as KINDS
from penstock.engine.options import near_miss
from penstock.errors import UnknownConnectorError
from penstock.runtime.views.relations.connectors import (
    CONNECTOR_OPTIONS,
    CONNECTORS,
    connector_rows,
    option_rows,
)
from penstock.runtime.views.view import Row, View

ABOUT = """List the connectors: what stands after FROM and INTO, whether what each needs is there,
and how to install it. With a name, list its options, for sources and for sinks."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments; no home is opened."""
    parser.set_defaults(home=None)
    parser.add_argument("name", metavar="NAME", nargs="?", help="the connector to tell of")


def run(args: argparse.Namespace) -> int:
    """Print the connectors, or the options of one."""
    if args.name is None:
        _put(CONNECTORS, connector_rows())
        return 0
    name = args.name.lower()
    if name not in KINDS:
        raise UnknownConnectorError(
            f"there is no connector {args.name}", hint=near_miss(name, KINDS)
        )
    _put(CONNECTOR_OPTIONS, (row for row in option_rows() if row["connector"] == name))
    if KINDS[name].missing:
        print(KINDS[name].remedy)
    return 0


def _put(view: View, rows: Iterable[Row]) -> None:
    table = pa.Table.from_pylist(list(rows), view.columns)
    Screen.standard().rows(f"{fitted(table, None)}\n".encode())


COMMAND = Command(ABOUT, add_arguments, run)
