"""Which address of HTTP is asked, and as whom: the options that all of its connectors share."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import SplitResult

from penstock.engine.allowed import Allowed
from penstock.engine.clients.http.address import address_of, port_of
from penstock.engine.options import Declared, interval, secret, text
from penstock.model.definitions import Secret

PLACE_OPTIONS = {
    "url": Declared(text, required=True, about="the address, without secrets"),
    "token": Declared(secret, about="goes along as Authorization: Bearer …"),
    "timeout": Declared(
        interval, default=timedelta(seconds=30), about="the longest that an answer is waited for"
    ),
}
REMEDY = "give it as token => secret('NAME')"


@dataclass(frozen=True, slots=True)
class HttpPlace:
    """One address and who asks; `seconds` bound each wait."""

    url: str
    address: SplitResult
    token: Secret | None
    seconds: float

    @classmethod
    def of(cls, options: Mapping[str, Any], connector: str) -> "HttpPlace":
        """Return the place that options name, or raise what is wrong with its url."""
        example = f"{connector}(url => 'https://example.org/readings')"
        address = address_of(options["url"], connector, example, REMEDY)
        seconds = options["timeout"].total_seconds()
        return cls(options["url"], address, options["token"], seconds)

    def require_allowed(self, allowed: Allowed) -> None:
        """Raise where the operator has not named the host."""
        allowed.require_host(self.address.hostname or "", port_of(self.address))

    def __str__(self) -> str:
        """Name the host alone: a path or a query may hold what is nobody's business."""
        return f"{self.address.scheme}://{self.address.hostname}:{port_of(self.address)}"
