"""Where an MQTT broker is, and as whom it is asked: the options that source and sink share."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from penstock.engine.allowed import Allowed
from penstock.engine.options import Declared, flag, interval, secret, text, whole
from penstock.model.definitions import Secret

PORT, TLS_PORT = 1883, 8883
PLACE_OPTIONS = {
    "host": Declared(text, required=True, about="where the broker is"),
    "port": Declared(whole(), about="its port: 1883, with tls 8883"),
    "user": Declared(text, about="the name to log in with"),
    "password": Declared(secret, about="its password"),
    "tls": Declared(flag, default=False, about="encrypted, the broker's certificate verified"),
    "timeout": Declared(
        interval, default=timedelta(seconds=30), about="the longest that the broker is waited for"
    ),
}


@dataclass(frozen=True, slots=True)
class MqttPlace:
    """One broker and user; `seconds` bound each wait for an answer."""

    host: str
    port: int
    user: str | None
    password: Secret | None
    tls: bool
    seconds: float

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "MqttPlace":
        """Return the place that options name."""
        return cls(
            options["host"],
            options["port"] or (TLS_PORT if options["tls"] else PORT),
            options["user"],
            options["password"],
            options["tls"],
            options["timeout"].total_seconds(),
        )

    def require_allowed(self, allowed: Allowed) -> None:
        """Raise where the operator has not named the host."""
        allowed.require_host(self.host, self.port)

    def __str__(self) -> str:
        """Name it without what is secret."""
        return f"MQTT at {self.host}:{self.port}"


def is_filter(topic: str) -> bool:
    """Say whether a text is a topic filter: + stands for a level, # at the end for all below."""
    levels = topic.split("/")
    sound = all(level in ("+", "#") or not {"+", "#"} & set(level) for level in levels)
    return sound and "#" not in levels[:-1] and is_named(topic)


def is_topic(topic: str) -> bool:
    """Say whether a message can be published to a topic of that name."""
    return is_named(topic) and not {"+", "#"} & set(topic)


def is_named(topic: str) -> bool:
    """Say whether a text is none that MQTT forbids as a name."""
    return 0 < len(topic.encode()) <= LONGEST_TOPIC and "\0" not in topic


LONGEST_TOPIC = 65_535  # bytes, by the standard
