"""secret('NAME'): values that stand in no definition and are looked up when a connector opens.

A secret is the variable PENSTOCK_SECRET_NAME of the environment, or stands where PENSTOCK_SECRETS
leads: a directory with a file for each, or a file with a line NAME=value for each. No other
variable and no other file is reached by a name, so that no statement can send what is not its own.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from penstock.errors import UnknownSecretError
from penstock.model.definitions import Secret

VARIABLE = "PENSTOCK_SECRET_"
PLACE = "PENSTOCK_SECRETS"
LINE = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)")


class Secrets:
    """What one connector has looked up, so that no message carries it out again."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._known: dict[str, str] = {}

    def __repr__(self) -> str:
        """Return names alone."""
        return f"Secrets({', '.join(sorted(self._known))})"

    def reveal(self, value: str | Secret) -> str:
        """Return a text as it is, and a secret's value; UnknownSecretError where there is none."""
        if not isinstance(value, Secret):
            return value
        found = self._environment.get(VARIABLE + value.name)
        if found is None:
            found = self._kept(value.name)
        if not found:
            raise UnknownSecretError(
                f"there is no secret {value.name}",
                hint=f"set {VARIABLE}{value.name}, or write it to the directory or file that "
                f"{PLACE} names; then it is tried again",
            )
        self._known[value.name] = found
        return found

    def scrubbed(self, text: str) -> str:
        """Return a message with the names of secrets where their values stood."""
        for name, value in sorted(self._known.items(), key=lambda each: -len(each[1])):
            text = text.replace(value, f"secret('{name}')")
        return text

    def _kept(self, name: str) -> str | None:
        place = self._environment.get(PLACE)
        if not place:
            return None
        path = Path(place).expanduser()
        try:
            if path.is_dir():
                return (path / name).read_text(encoding="utf-8").removesuffix("\n")
            found = map(LINE.fullmatch, path.read_text(encoding="utf-8").splitlines())
            return {each[1]: each[2].strip() for each in found if each is not None}.get(name)
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
            raise UnknownSecretError(
                f"the secret {name} cannot be read: {why}",
                hint=f"{PLACE} names a directory with a file for each secret, or a file with a "
                "line NAME=value for each",
            ) from None
