"""Opening a home for a command, and leaving it in good order."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.cli.screen import Screen
from penstock.cli.stop_signals import end_children, sigterm_kept
from penstock.server.configuration import Configuration
from penstock.server.logs import log_no_more, log_to_standard_error

if TYPE_CHECKING:  # `penstock check` and its like take what is here, and need not wait for Spark
    from penstock.client import Connection

STARTING = "starting Spark, which takes a few seconds …"
LOGGING = ("log.level", "log.format")


@contextmanager
def opened(
    configuration: Configuration,
    screen: Screen,
    listen: Callable[[], None],
    *,
    begin: bool = True,
) -> Iterator["Connection"]:
    """Give a connection, and close it with a checkpoint; `listen` takes the signals meanwhile.

    Without `begin` nothing flows until the connection is told to. The signals are taken before
    anything flows: to do recorded runs again may take long.
    """
    from penstock.server.opening import open_home  # noqa: PLC0415  (it loads Spark)

    screen.live(STARTING)
    try:
        with sigterm_kept(listen):
            connection = open_home(configuration)
    except KeyboardInterrupt:
        end_children()
        raise
    finally:
        screen.clear()
    try:
        with logged(configuration):
            if begin:
                connection.begin()
            yield connection
    finally:
        screen.clear()
        connection.close()


@contextmanager
def logged(configuration: Configuration) -> Iterator[None]:
    """Log as the settings say, where they say how; a command has its own words for the rest."""
    if not any(place in configuration.origins for place in LOGGING):
        yield
        return
    handler = log_to_standard_error(configuration.log_level, configuration.log_format)
    try:
        yield
    finally:
        log_no_more(handler)
