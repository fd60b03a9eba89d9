"""`postgresql://user@host:port/database?schema=name`: where the journal of a home is."""

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from penstock.errors import BadOptionError

SCHEMES = ("postgresql", "postgres")
SCHEMA = "schema"
DEFAULT_SCHEMA = "penstock"
NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
QUERIED = re.compile(r"([?&](?:ssl)?password=)[^&]*")
URL = "postgresql://USER@HOST:PORT/DATABASE?schema=NAME"


@dataclass(frozen=True, slots=True)
class JournalPlace:
    """A database and the schema in it that belongs to one home; `url` may have a password."""

    url: str = field(repr=False)
    schema: str
    shown: str

    def __str__(self) -> str:
        """Return where it is, without a password."""
        return self.shown


def journal_place(text: str) -> JournalPlace:
    """Return the place that a URL names, or raise BadOptionError."""
    try:
        parts = urlsplit(text)
        options = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
        port = parts.port
    except ValueError:
        raise _bad("it cannot be read") from None
    if parts.scheme not in SCHEMES:
        raise _bad("it begins otherwise")
    schema = options.pop(SCHEMA, DEFAULT_SCHEMA)
    if not NAME.fullmatch(schema):
        raise _bad("its schema is no name of lower-case letters, digits and _")
    kept = urlencode(options, quote_via=quote)
    url = text.partition("?")[0] + (f"?{kept}" if kept else "")
    where = f"{parts.hostname or 'this machine'}{f':{port}' if port else ''}"
    return JournalPlace(url, schema, f"PostgreSQL at {where}{parts.path}, schema {schema}")


def without_password(text: str) -> str:
    """Return a URL of a journal as it may be shown."""
    return QUERIED.sub(r"\1…", re.sub(r"(://[^/@:]*):[^/]*@", r"\1:…@", text))


def _bad(why: str) -> BadOptionError:
    return BadOptionError(
        f"the journal is not named by a URL of PostgreSQL: {why}",
        hint=f"{URL}; the password may be in PGPASSWORD or PGPASSFILE",
    )
