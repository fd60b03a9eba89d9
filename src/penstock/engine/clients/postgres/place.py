"""Where a PostgreSQL is, and as whom it is asked: the options that all of its connectors share."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from penstock.engine.allowed import Allowed
from penstock.engine.options import Declared, interval, one_of, secret, text, whole
from penstock.model.definitions import Secret

PORT = 5432
PLACE_OPTIONS = {
    "host": Declared(text, required=True, about="where the server is"),
    "port": Declared(whole(), default=PORT, about="its port"),
    "database": Declared(text, required=True, about="the database"),
    "user": Declared(text, required=True, about="the role"),
    "password": Declared(secret, about="its password"),
    "tls": Declared(
        one_of("disable", "prefer", "require", "verify-full"),
        default="prefer",
        about="libpq's sslmode",
    ),
    "schema": Declared(text, default="public", about="the schema in which names are"),
    "timeout": Declared(
        interval, default=timedelta(seconds=30), about="the longest that one transaction takes"
    ),
}


@dataclass(frozen=True, slots=True)
class PostgresPlace:
    """One database and role; `seconds` bound each transaction, `schema` is where names are."""

    host: str
    port: int
    database: str
    user: str
    password: Secret | None
    tls: str
    schema: str
    seconds: float

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "PostgresPlace":
        """Return the place that options name."""
        return cls(
            options["host"],
            options["port"],
            options["database"],
            options["user"],
            options["password"],
            options["tls"],
            options["schema"],
            options["timeout"].total_seconds(),
        )

    def require_allowed(self, allowed: Allowed) -> None:
        """Raise where the operator has not named the host."""
        allowed.require_host(self.host, PORT if self.host.startswith("/") else self.port)

    def __str__(self) -> str:
        """Name it without what is secret."""
        return f"PostgreSQL at {self.host}:{self.port}/{self.database}"
