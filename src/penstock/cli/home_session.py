"""Opening a home for a command, and leaving it in good order."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypedDict

import penstock
from penstock.cli.screen import Screen
from penstock.cli.stop_signals import end_children, sigterm_kept

if TYPE_CHECKING:  # `penstock check` and its like take what is here, and need not wait for Spark
    from penstock.client import Connection


class Grants(TypedDict, total=False):
    """What the operator opens, by the arguments of `connect`."""

    formats: Sequence[str]
    hosts: Sequence[str]
    writable: Sequence[str]
    readable: Sequence[str]


STARTING = "starting Spark, which takes a few seconds …"


@contextmanager
def opened(
    home: str,
    master: str,
    screen: Screen,
    listen: Callable[[], None],
    *,
    begin: bool = True,
    allow: Grants | None = None,
) -> Iterator["Connection"]:
    """Give a connection, and close it with a checkpoint; `listen` takes the signals meanwhile.

    Without `begin` nothing flows until the connection is told to. The signals are taken before
    anything flows: to do recorded runs again may take long.
    """
    screen.live(STARTING)
    try:
        with sigterm_kept(listen):
            connection = penstock.connect(home, master=master, begin=False, **(allow or {}))
    except KeyboardInterrupt:
        end_children()
        raise
    finally:
        screen.clear()
    try:
        if begin:
            connection.begin()
        yield connection
    finally:
        screen.clear()
        connection.close()
