"""webhook(url => 'https://…'): a POST of JSON, with a key that is the same for each new try.

Only http and https, only to hosts that the operator has allowed, and straight to the address that
the rule names: a redirect is a failure, so that an answer can send nobody to a file or into another
network. Errors name the host, and neither the path nor what was sent: secrets are often part of
both. A token is not written into the rule: the rule names the environment variable that holds it.
"""

import http.client
import os

from penstock.engine.actions.action import TriggerBatch
from penstock.engine.actions.within import within
from penstock.engine.allowed import Allowed
from penstock.engine.clients.http.address import address_of, port_of
from penstock.engine.options import Declared, read_options, text
from penstock.errors import ActionError, NotAllowedError
from penstock.model.definitions import Connector

OPTIONS = {
    "url": Declared(text, required=True),
    "token_from": Declared(text),  # the name of an environment variable
}
CONNECTIONS: dict[str, type[http.client.HTTPConnection]] = {
    "http": http.client.HTTPConnection,
    "https": http.client.HTTPSConnection,
}
TAKEN = range(200, 300)
TO_THE_ENVIRONMENT = "put it into the environment, and name it: token_from => 'ALARM_TOKEN'"


class Webhook:
    """One address to tell."""

    def __init__(self, connector: Connector) -> None:
        options = read_options(connector, OPTIONS)
        self._address = address_of(
            options["url"],
            "a webhook",
            "webhook(url => 'https://example.org/alarm')",
            TO_THE_ENVIRONMENT,
        )
        self._token_from: str | None = options["token_from"]

    def check(self, allowed: Allowed) -> None:
        if not self._may_reach(allowed):
            raise NotAllowedError(
                f"no rule may tell {self._address.hostname}",
                hint="the operator allows hosts: allow.hosts of a server, "
                "connect(hosts=['example.org']), or a line of the file `hosts` in the home",
            )

    def perform(self, trigger_batch: TriggerBatch, seconds: float) -> None:
        if not self._may_reach(trigger_batch.allowed):
            raise ActionError(f"no rule may tell {self._address.hostname} any more")
        connection = self._connection(seconds)
        body, headers = trigger_batch.json(), self._headers(trigger_batch)

        def post() -> None:
            try:
                connection.request("POST", self._target(), body, headers)
                with connection.getresponse() as answer:
                    status = answer.status
                if status not in TAKEN:
                    raise self._failure(f"it answered {status}")
            except (OSError, http.client.HTTPException) as error:
                raise self._failure(_reason(error)) from None
            finally:
                connection.close()

        within(seconds, post, connection.close)

    def _may_reach(self, allowed: Allowed) -> bool:
        host = self._address.hostname or ""
        port = port_of(self._address)
        known = {each.lower() for each in allowed.hosts}
        return host in known or f"{host}:{port}" in known

    def _connection(self, seconds: float) -> http.client.HTTPConnection:
        host, port = self._address.hostname or "", self._address.port
        return CONNECTIONS[self._address.scheme](host, port, timeout=seconds)

    def _headers(self, trigger_batch: TriggerBatch) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Idempotency-Key": trigger_batch.key}
        if self._token_from is not None:
            token = os.environ.get(self._token_from)
            if token is None:
                raise ActionError(f"the environment has no {self._token_from}")
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def _target(self) -> str:
        query = f"?{self._address.query}" if self._address.query else ""
        return (self._address.path or "/") + query

    def _failure(self, why: str) -> ActionError:
        return ActionError(f"the webhook at {self._address.hostname} failed: {why}")


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return f"it does not speak HTTP ({type(error).__name__})"
