"""Names in a catalog: how they compare, and how their misuse is told."""

from penstock.catalog.catalog import CatalogEntry, Kind
from penstock.errors import NameTakenError, UnknownNameError


def folded(name: str) -> str:
    """Return the form in which names are compared, as Spark compares them."""
    return name.lower()


def check_free(kind: Kind, name: str, held: CatalogEntry | None, *, replace: bool) -> None:
    """Raise NameTakenError unless nothing holds the name, or the same kind that gives way."""
    if held is None or (replace and held.kind == kind):
        return
    hint = (
        f"DROP {held.kind} {held.name} first"
        if replace
        else "CREATE OR REPLACE puts the new one in its place; IF NOT EXISTS leaves the old one"
    )
    raise NameTakenError(f"{held.kind.lower()} {held.name} exists, so {name} is taken", hint=hint)


def unknown(name: str) -> UnknownNameError:
    """Return the error for a name that nothing holds."""
    return UnknownNameError(f"there is no stream, table, query or event {name}")
