"""Which master an application runs on, and whether it answers."""

import os
import socket
from collections.abc import Mapping
from contextlib import suppress

from pyspark import SparkConf, SparkContext

from penstock.errors import SparkMissingError

STANDALONE = "spark://"
PORT = "7077"
REACH_SECONDS = 5.0  # Spark itself tries for a minute, and says so in its log alone
GATEWAY = "PYSPARK_GATEWAY_PORT"  # in the environment of what spark-submit starts


def submitted() -> Mapping[str, str]:
    """Return the settings that spark-submit was given; none where it did not start us."""
    if GATEWAY not in os.environ:
        return {}
    SparkContext._ensure_initialized()  # they are in its Java
    return dict(SparkConf().getAll())


def refuse_unreachable(master: str) -> None:
    """Raise where no address of a standalone master answers."""
    if not master.startswith(STANDALONE):
        return
    addresses = master.removeprefix(STANDALONE).split(",")
    if not any(map(_answers, addresses)):
        raise SparkMissingError(
            f"no Spark master answers at {master}",
            hint="look whether it runs, and whether a firewall is in between; its log tells the "
            "address that it takes",
        )


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with suppress(OSError, ValueError, OverflowError):
        taken = (host or address, int(port if host else PORT))
        socket.create_connection(taken, REACH_SECONDS).close()
        return True
    return False
