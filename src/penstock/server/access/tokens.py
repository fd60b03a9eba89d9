"""Tokens: made once, shown once, and kept as hashes.

A token is 256 random bits, so nobody finds it by trying, and a plain SHA-256 of it hides it as well
as a slow hash would; comparing takes the same time wherever two differ.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from penstock.engine.sinks.whole_file import write_whole
from penstock.errors import ConfigurationError, NameTakenError, UnknownNameError, quoted_value
from penstock.server.access.caller import Caller, Role

PREFIX = "pst_"  # so that a token is known for one where it should not stand
RANDOM_BYTES = 32
FILE = "tokens.json"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
HASH = re.compile(r"[0-9a-f]{64}")
OWNER_ONLY = 0o600
NAME_HINT = "a name has up to 64 letters, digits and . _ @ -, and begins with a letter or digit"


@dataclass(frozen=True, slots=True)
class Token:
    """What is kept of a token: whose it is, its hash, and what it may do."""

    name: str
    sha256: str
    role: Role
    streams: frozenset[str] | None = None
    made: str = ""

    @property
    def caller(self) -> Caller:
        """Return who comes with this token."""
        return Caller(self.name, self.role, self.streams)

    def entry(self) -> dict[str, Any]:
        """Return it as a file has it."""
        kept: dict[str, Any] = {"sha256": self.sha256, "role": self.role.name.lower()}
        if self.streams is not None:
            kept["streams"] = sorted(self.streams)
        return kept | ({"made": self.made} if self.made else {})


def new_token(
    name: str, role: Role, streams: Iterable[str] | None, now: datetime | None = None
) -> tuple[str, Token]:
    """Return a new secret, which is shown once, and what is kept of it."""
    secret = PREFIX + secrets.token_urlsafe(RANDOM_BYTES)
    limited = None if streams is None else frozenset(each.lower() for each in streams)
    at = (now or datetime.now(UTC)).isoformat(timespec="seconds")
    return secret, Token(checked_name(name), hash_of(secret), role, limited, at)


def hash_of(secret: str) -> str:
    """Return what is kept of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def find(secret: str, tokens: Iterable[Token]) -> Token | None:
    """Return the token that a secret is, if any; every one is compared, to its end."""
    hashed, found = hash_of(secret), None
    for token in tokens:
        if hmac.compare_digest(hashed, token.sha256):
            found = token
    return found


def checked_name(name: str) -> str:
    """Return a name, or raise where nobody can be called that."""
    if not NAME.fullmatch(name) or name.lower() == "local":
        raise ConfigurationError(f"no token can be called {quoted_value(name)}", hint=NAME_HINT)
    return name


def token_from(name: str, entry: Any, where: str) -> Token:
    """Return a token as a file has it, or raise what is wrong with it."""
    checked_name(name)
    known = {"sha256", "role", "streams", "made"}
    if not isinstance(entry, Mapping) or entry.keys() - known:
        raise _bad(name, where, f"it has {', '.join(sorted(known))}")
    role = str(entry.get("role", "")).upper()
    if role not in Role.__members__:
        raise _bad(name, where, "role is read, write or admin")
    sha256, streams = entry.get("sha256"), entry.get("streams")
    if not isinstance(sha256, str) or not HASH.fullmatch(sha256):
        raise _bad(name, where, "sha256 is 64 hexadecimal digits: penstock token make shows them")
    if streams is not None and not (
        isinstance(streams, list) and all(isinstance(each, str) for each in streams)
    ):
        raise _bad(name, where, "streams is a list of names")
    limited = None if streams is None else frozenset(each.lower() for each in streams)
    return Token(name, sha256, Role[role], limited, str(entry.get("made", "")))


def _bad(name: str, where: str, hint: str) -> ConfigurationError:
    return ConfigurationError(f"token {name} of {where} cannot be read", hint=hint)


class TokenFile:
    """The tokens that a home keeps; read again whenever the file has changed.

    So a token that is made or revoked counts at once, while the server runs.
    """

    def __init__(self, home: Path) -> None:
        self.path = home.expanduser() / FILE
        self._seen: tuple[int, int, int] | None = None
        self._tokens: tuple[Token, ...] = ()

    def tokens(self) -> tuple[Token, ...]:
        """Return what the file has now."""
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            self._seen, self._tokens = None, ()
            return ()
        seen = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
        if seen != self._seen:
            self._tokens = self._read()
            self._seen = seen
        return self._tokens

    def add(self, token: Token) -> None:
        """Keep one more token."""
        there = self.tokens()
        if any(each.name == token.name for each in there):
            raise NameTakenError(
                f"there is a token {token.name} already", hint="penstock token revoke it first"
            )
        self._write([*there, token])

    def revoke(self, name: str) -> None:
        """Forget a token."""
        there = self.tokens()
        left = [each for each in there if each.name != name]
        if len(left) == len(there):
            names = ", ".join(each.name for each in there) or "none at all"
            raise UnknownNameError(f"no token {name}", hint=f"there is {names}")
        self._write(left)

    def _read(self) -> tuple[Token, ...]:
        try:
            held = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigurationError(f"{self.path} cannot be read: {error}") from None
        if not isinstance(held, dict):
            raise ConfigurationError(f"{self.path} holds no tokens")
        return tuple(token_from(name, entry, str(self.path)) for name, entry in held.items())

    def _write(self, tokens: Iterable[Token]) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = {each.name: each.entry() for each in tokens}
        write_whole(self.path, json.dumps(held, indent=1).encode() + b"\n", sync=True)
        os.chmod(self.path, OWNER_ONLY)  # noqa: PTH101  (hashes are nobody else's business)
        self._seen = None
