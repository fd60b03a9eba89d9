"""Requests by httpx: to the address alone, no redirect followed, no environment's proxy asked.

A redirect is a failure, so that an answer can send nobody to a place that no one has allowed.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import httpx

from penstock.engine.clients.http.place import HttpPlace
from penstock.engine.secrets import Secrets
from penstock.errors import PenstockError

MOST_BYTES = 64 << 20  # of an answer: it is in memory as a whole


class Session:
    """Connections to one place; `failure` is what goes wrong."""

    def __init__(self, place: HttpPlace, failure: type[PenstockError]) -> None:
        self._place, self._failure = place, failure
        self._client = httpx.Client(timeout=place.seconds, follow_redirects=False, trust_env=False)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def answer(
        self,
        method: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> tuple[httpx.Response, bytes]:
        """Return what is answered, whole and in time, whatever its status."""
        until = time.monotonic() + self._place.seconds
        with self.stream(method, params=params, headers=headers, body=body) as response:
            held = bytearray()
            for chunk in response.iter_bytes():
                held += chunk
                if len(held) > MOST_BYTES:
                    raise self.failed(f"it answered more than {MOST_BYTES >> 20} MiB")
                if time.monotonic() > until:
                    raise self.failed(f"it took more than {self._place.seconds:g} s to answer")
            return response, bytes(held)

    @contextmanager
    def stream(
        self,
        method: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        endless: bool = False,
    ) -> Iterator[httpx.Response]:
        """Give an answer whose body is still to come; `endless` ones may be silent for long."""
        url = httpx.URL(self._place.url)
        if params:
            url = url.copy_merge_params(params)
        seconds = self._place.seconds
        limits = httpx.Timeout(seconds, read=None) if endless else httpx.Timeout(seconds)
        secrets = Secrets()
        given = dict(headers or {})
        if self._place.token is not None:
            given["Authorization"] = f"Bearer {secrets.reveal(self._place.token)}"
        try:
            with self._client.stream(
                method, url, headers=given, content=body, timeout=limits
            ) as response:
                yield response
        except (httpx.HTTPError, httpx.StreamError) as error:
            why = secrets.scrubbed(str(error)) or type(error).__name__
            raise self.failed(why) from None

    def failed(self, why: str) -> PenstockError:
        """Return the failure of a request."""
        return self._failure(f"{self._place} failed: {why}", hint="it is tried again")
