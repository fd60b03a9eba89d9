"""A schema registry: schemas by the numbers that records name, by HTTP.

Its answers are kept: a number means the same schema for ever.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from penstock.engine.clients.kafka.registry_place import RegistryPlace
from penstock.engine.secrets import Secrets
from penstock.errors import SourceError

NOT_FOUND = 404
TYPE = "application/vnd.schemaregistry.v1+json"


class UnknownSchemaError(ValueError):
    """A number that the registry does not know: what names it is no record of this topic."""


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as text, and those that it refers to, by the names that it knows them by."""

    text: str
    references: tuple[tuple[str, "RegisteredSchema"], ...] = ()


class Registry:
    """Asks one registry; safe for one thread at a time."""

    def __init__(self, place: RegistryPlace, *, serialized: bool) -> None:
        """With `serialized`, Protobuf comes as descriptors in base64 and not as source text."""
        self._place = place
        self._query = "?format=serialized" if serialized else ""
        self._secrets = Secrets()
        self._known: dict[int, RegisteredSchema] = {}

    def schema(self, number: int) -> RegisteredSchema:
        """Return a schema; UnknownSchemaError, or SourceError where that cannot be told now."""
        if number not in self._known:
            self._known[number] = self._complete(self._get(f"schemas/ids/{number}{self._query}"))
        return self._known[number]

    def _complete(self, found: Mapping[str, Any]) -> RegisteredSchema:
        references = []
        for each in found.get("references") or ():
            subject, version = quote(str(each["subject"]), safe=""), int(each["version"])
            path = f"subjects/{subject}/versions/{version}{self._query}"
            references.append((str(each["name"]), self._complete(self._get(path))))
        return RegisteredSchema(str(found["schema"]), tuple(references))

    def _get(self, path: str) -> Mapping[str, Any]:
        place, auth = self._place, None
        if place.user is not None and place.password is not None:
            auth = httpx.BasicAuth(place.user, self._secrets.reveal(place.password))
        url = f"{place.url.rstrip('/')}/{path}"
        try:
            got = httpx.get(url, auth=auth, headers={"Accept": TYPE}, timeout=place.seconds)
            if got.status_code == NOT_FOUND:
                raise UnknownSchemaError(f"the registry has no {path.partition('?')[0]}")
            got.raise_for_status()
            found: Mapping[str, Any] = got.json()
            return found
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise SourceError(
                f"{place}: {self._secrets.scrubbed(str(error))}",
                hint="check registry, and whether it runs; it is tried again",
            ) from error
