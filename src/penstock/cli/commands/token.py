"""`penstock token`: make, list and revoke the tokens that a home keeps."""

import argparse
import os
from pathlib import Path

from penstock.cli.commands.command import DEFAULT_HOME, Command
from penstock.errors import BadOptionError
from penstock.server.access.caller import Role
from penstock.server.access.tokens import TokenFile, new_token

ABOUT = """Make a token for a client, list those that there are, or revoke one; the home keeps
their hashes alone. A server that runs takes notice at once. With the first token every client
needs one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", choices=("make", "list", "revoke"))
    parser.add_argument("name", nargs="?", metavar="NAME", help="whose token it is")
    parser.add_argument(
        "--home",
        default=os.environ.get("PENSTOCK_HOME", DEFAULT_HOME),
        metavar="DIR",
        help="the home that keeps it (default: PENSTOCK_HOME, or .penstock)",
    )
    parser.add_argument(
        "--role",
        choices=[role.name.lower() for role in Role],
        default="read",
        help="read asks and subscribes, write pushes and defines, admin may do everything",
    )
    parser.add_argument(
        "--stream",
        dest="streams",
        action="append",
        metavar="NAME",
        help="limit it to this stream, and what reads only such; may be given more than once",
    )


def run(args: argparse.Namespace) -> int:
    """Do what is asked; a new token is printed, and nowhere else to be had."""
    file = TokenFile(Path(args.home))
    if args.action == "list":
        for token in file.tokens():
            limited = "" if token.streams is None else f"  {', '.join(sorted(token.streams))}"
            print(f"{token.name}  {token.role.name.lower()}  {token.made}{limited}")
        return 0
    if not args.name:
        raise BadOptionError(
            f"penstock token {args.action} needs a name", hint="penstock token list shows them"
        )
    if args.action == "revoke":
        file.revoke(args.name)
        return 0
    secret, token = new_token(args.name, Role[args.role.upper()], args.streams)
    file.add(token)
    print(secret)
    return 0


COMMAND = Command(ABOUT, add_arguments, run)
