"""Where a Kafka is, and as whom it is asked: the options that all of its connectors share."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from penstock.engine.allowed import Allowed
from penstock.engine.options import Declared, Kind, flag, interval, one_of, secret, text
from penstock.engine.secrets import Secrets
from penstock.errors import BadOptionError
from penstock.model.definitions import Option, Secret

PORT = 9092
SERVER = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
SILENT = 0  # of syslog's levels: the driver writes to standard error, and what matters is raised

Server = tuple[str, int]


def _servers(value: Option) -> tuple[Server, ...]:
    names = [name.strip() for name in value.split(",")] if isinstance(value, str) else []
    found = [SERVER.fullmatch(name) for name in names]
    if not found or not all(found):
        raise ValueError("must be hosts with ports, such as 'one:9092, two:9092'")
    return tuple((each[1].strip("[]"), int(each[2] or PORT)) for each in found if each)


PLACE_OPTIONS = {
    "servers": Declared(
        Kind("hosts with ports, commas between", _servers),
        required=True,
        about="brokers to ask first",
    ),
    "tls": Declared(flag, default=False, about="speak TLS"),
    "ca": Declared(text, about="with tls: a file with the authorities that are trusted"),
    "user": Declared(text, about="the user, by SASL"),
    "password": Declared(secret, about="its password"),
    "mechanism": Declared(
        one_of("plain", "scram-sha-256", "scram-sha-512"),
        default="scram-sha-512",
        about="how the password is proved",
    ),
    "timeout": Declared(
        interval, default=timedelta(seconds=30), about="the longest that one request takes"
    ),
}


@dataclass(frozen=True, slots=True)
class KafkaPlace:
    """One cluster and user; `seconds` bound what waits for it."""

    servers: tuple[Server, ...]
    tls: bool
    ca: str | None
    user: str | None
    password: Secret | None
    mechanism: str
    seconds: float

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "KafkaPlace":
        """Return the place that options name, or raise what does not fit together."""
        if (options["user"] is None) != (options["password"] is None):
            raise BadOptionError(
                "user and password of kafka go together",
                hint="kafka(…, user => 'me', password => secret('KAFKA'))",
            )
        if options["ca"] is not None and not options["tls"]:
            raise BadOptionError("ca of kafka goes with tls => true")
        return cls(
            options["servers"],
            options["tls"],
            options["ca"],
            options["user"],
            options["password"],
            options["mechanism"],
            options["timeout"].total_seconds(),
        )

    def require_allowed(self, allowed: Allowed) -> None:
        """Raise where the operator has not named a server."""
        for host, port in self.servers:
            allowed.require_host(host, port)

    def client(self, secrets: Secrets) -> dict[str, Any]:
        """Return the configuration of a client; UnknownSecretError where the password is not."""
        config: dict[str, Any] = {
            "bootstrap.servers": ",".join(map(_address, self.servers)),
            "client.id": "penstock",
            "log_level": SILENT,
            "socket.timeout.ms": round(max(self.seconds, 1.0) * 1000),
            "socket.nagle.disable": True,
            "reconnect.backoff.max.ms": 2000,
            "security.protocol": self._protocol,
        }
        if self.ca is not None:
            config["ssl.ca.location"] = self.ca
        if self.user is not None and self.password is not None:
            config["sasl.mechanism"] = self.mechanism.upper()
            config["sasl.username"] = self.user
            config["sasl.password"] = secrets.reveal(self.password)
        return config

    @property
    def _protocol(self) -> str:
        if self.user is None:
            return "SSL" if self.tls else "PLAINTEXT"
        return "SASL_SSL" if self.tls else "SASL_PLAINTEXT"

    def __str__(self) -> str:
        """Name it without what is secret."""
        return f"Kafka at {','.join(map(_address, self.servers))}"


def _address(server: Server) -> str:
    host, port = server
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
