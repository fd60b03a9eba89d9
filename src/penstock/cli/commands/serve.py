"""`penstock serve`: open a home, run everything in it, and serve it to many clients."""

import argparse
import os
import signal
import time
from collections.abc import Callable

from penstock.cli.commands.command import Command
from penstock.cli.commands.settings_flags import add_settings, given
from penstock.cli.guard import FAILED
from penstock.cli.home_session import STARTING
from penstock.cli.screen import Screen
from penstock.cli.script_merge import go_on
from penstock.cli.stop_signals import StopSignals, end_children, sigterm_kept
from penstock.client import Connection
from penstock.server.configuration import Configuration, resolved, unknown_variables
from penstock.server.logs import log_no_more, log_to_standard_error, teller
from penstock.server.opening import open_home
from penstock.server.serve import Listeners
from penstock.server.service import Service

ABOUT = """Open a home, run everything in it, and serve it: HTTP, its page and, with --pg-port,
PostgreSQL's protocol. Settings come from the command line, from PENSTOCK_* variables and from a
file (penstock.toml, or --config); penstock config shows them. Without a token it listens on this
machine alone. SIGTERM and Ctrl-C end it with a checkpoint."""
LOOK_SECONDS = 0.1
Say = Callable[[str], None]
READY = "ready"
STOPPING = "stopping: requests that run are finished, and a checkpoint is written"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until a signal comes, or nothing goes on any more."""
    configuration = resolved(given(args), os.environ, args.config)
    handler = log_to_standard_error(configuration.log_level, configuration.log_format)
    service = Service(configuration)
    say = teller(handler, Screen.standard().say)
    for line in unknown_variables(os.environ):
        say(line)
    try:
        return _serve(service, say, StopSignals())
    finally:
        service.close()
        log_no_more(handler)


def _serve(service: Service, say: Say, signals: StopSignals) -> int:
    listeners = Listeners(service)
    listeners.start()
    try:
        for address in listeners.addresses():
            say(f"listening on {address}")
        say(STARTING)
        connection = _opened(service.configuration, signals)
        try:
            if go_on(connection, signals):
                service.open(connection)
                say(READY)
            code = _wait(connection, say, signals)
        finally:
            service.stop()
            listeners.stop()
            connection.close()
    finally:
        service.stop()
        listeners.stop()
    return code


def _opened(configuration: Configuration, signals: StopSignals) -> Connection:
    """Open the home; signals are taken from then on."""
    try:
        with sigterm_kept(signals.listen):
            return open_home(configuration)
    except KeyboardInterrupt:
        end_children()
        raise


def _wait(connection: Connection, say: Say, signals: StopSignals) -> int:
    """Wait for a signal; where nothing goes on, say why."""
    supervisor = connection.system.supervisor
    while signals.received is None:
        if supervisor.fatal is not None:
            say(str(supervisor.fatal))
            return FAILED
        time.sleep(LOOK_SECONDS)
    say(STOPPING)
    return 0 if signals.received is signal.SIGTERM else signals.exit_code


COMMAND = Command(ABOUT, add_arguments, run)
