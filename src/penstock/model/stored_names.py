"""Names under which fields are stored, so that a renamed field loses nothing that homes hold."""

from collections.abc import Mapping
from dataclasses import Field
from typing import Any

STORED = "stored"


def stored_as(name: str) -> Mapping[str, str]:
    """Return the metadata of a field that homes know by another name: the one it had before."""
    return {STORED: name}


def stored_name(of: "Field[Any]") -> str:
    """Return the name under which homes know a field."""
    return str(of.metadata.get(STORED, of.name))
