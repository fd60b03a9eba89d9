"""Sources and sinks of MQTT as SQL would make them, for topics of the test broker."""

import time
from collections.abc import Callable
from itertools import count

from penstock.engine.allowed import Allowed
from penstock.model.definitions import Connector, Option
from tests.servers.mosquitto import MosquittoServer

LOOPBACK = Allowed(hosts=frozenset({"127.0.0.1"}))
PATIENCE = 60.0
NUMBERS = count(1)


def fresh_topic() -> str:
    """Return a topic that no test has had before."""
    return f"test/{next(NUMBERS)}"


def connector(broker: MosquittoServer, **more: Option) -> Connector:
    """Return the connector for the broker with more options, or with others."""
    options: dict[str, Option] = {"host": "127.0.0.1", "port": broker.port}
    return Connector("mqtt", tuple((options | more).items()))


def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
