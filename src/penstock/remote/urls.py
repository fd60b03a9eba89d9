"""URLs of servers, told from directories; nothing here needs what clients need."""

from urllib.parse import urlsplit

from penstock.errors import BadArgumentError

SCHEMES = ("http", "https")


def is_url(text: object) -> bool:
    """Say whether what is to be opened is a server, and no directory."""
    return isinstance(text, str) and text.partition("://")[0].lower() in SCHEMES


def checked_url(url: str) -> str:
    """Return a server's URL, or raise what is wrong with it."""
    parts = urlsplit(url)
    if not is_url(url) or not parts.hostname or parts.query or parts.fragment:
        raise BadArgumentError(f"{url} is no URL of a server", hint="such as http://127.0.0.1:8080")
    if parts.username or parts.password:
        raise BadArgumentError("a URL holds no token", hint="give token=… instead")
    return url.rstrip("/")
