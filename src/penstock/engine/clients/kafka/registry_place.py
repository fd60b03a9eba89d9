"""Where a schema registry is: the options of whatever reads or writes by its schemas."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from penstock.engine.allowed import Allowed
from penstock.engine.options import Declared, Kind, secret, text
from penstock.errors import BadOptionError
from penstock.model.definitions import Option, Secret

PORTS = {"http": 80, "https": 443}


def _url(value: Option) -> str:
    problem = "must be a URL, such as 'http://registry:8081'"
    if not isinstance(value, str):
        raise ValueError(problem)  # noqa: TRY004 - the contract of a kind
    parts = urlsplit(value)
    if parts.scheme not in PORTS or not parts.hostname or parts.username or parts.query:
        raise ValueError(f"{problem}, with no user in it")
    return value


REGISTRY_OPTIONS = {
    "registry": Declared(
        Kind("URL", _url), about="with avro and protobuf: the schema registry that records go by"
    ),
    "registry_user": Declared(text, about="the user of the registry"),
    "registry_password": Declared(secret, about="its password"),
}


@dataclass(frozen=True, slots=True)
class RegistryPlace:
    """One registry and user; `seconds` bound each request."""

    url: str
    user: str | None
    password: Secret | None
    seconds: float

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "RegistryPlace | None":
        """Return the registry that options name, if any, or raise what does not fit together."""
        user, password = options["registry_user"], options["registry_password"]
        if (user is None) != (password is None):
            raise BadOptionError("registry_user and registry_password of kafka go together")
        if options["registry"] is None:
            if user is not None:
                raise BadOptionError("registry_user of kafka goes with registry")
            return None
        return cls(options["registry"], user, password, options["timeout"].total_seconds())

    def require_allowed(self, allowed: Allowed) -> None:
        """Raise where the operator has not named the registry's host."""
        parts = urlsplit(self.url)
        allowed.require_host(str(parts.hostname), parts.port or PORTS[parts.scheme])

    def __str__(self) -> str:
        """Name it without what is secret."""
        return f"the schema registry at {self.url}"
