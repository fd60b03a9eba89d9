"""`--url` and what goes with it."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

import penstock
from penstock.cli.commands.settings_flags import given
from penstock.errors import BadOptionError
from penstock.server.configuration import SETTINGS

if TYPE_CHECKING:  # what a client needs is an extra
    from penstock.remote.connection import RemoteConnection

TOKEN = "PENSTOCK_TOKEN"  # noqa: S105  (the variable's name: what is on a command line all can read)
FIRST_SECONDS = 3.0  # for which a server is tried that somebody has just named
FLAGS = {each.place: each.flag for each in SETTINGS}


def add_server(parser: argparse.ArgumentParser) -> None:
    """Add --url and --ca."""
    parser.add_argument(
        "--url",
        metavar="URL",
        help=f"ask a server instead of opening a home; {TOKEN} has its token, where it wants one",
    )
    parser.add_argument(
        "--ca", metavar="FILE", help="the certificate to trust, where that is a server's own"
    )


def connected(args: argparse.Namespace) -> "RemoteConnection":
    """Connect to the server that is named; what only a home takes is refused."""
    own = ["--config"] if args.config is not None else [FLAGS[place] for place in given(args)]
    if own:
        raise BadOptionError(
            f"{own[0]} is for a home that is opened here, and --url names a server",
            hint="penstock serve takes it",
        )
    token = os.environ.get(TOKEN, "").strip() or None
    ca = None if args.ca is None else Path(args.ca)
    penstock.connect(args.url, token=token, ca=ca, patience=FIRST_SECONDS).close()
    return penstock.connect(args.url, token=token, ca=ca)
