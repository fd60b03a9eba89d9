"""Addresses of http and https in definitions, which everybody is shown: without secrets."""

import re
from urllib.parse import SplitResult, parse_qsl, urlsplit

from penstock.errors import BadOptionError

PORTS = {"http": 80, "https": 443}
# What a parameter is called whose value is nobody's business.
SECRET = re.compile(
    r"token|secret|passw|pwd|passphrase|api[-_.]?key|auth|credential|signature|^(access)?key$|^sig$",
    re.IGNORECASE,
)


def address_of(url: str, what: str, example: str, remedy: str) -> SplitResult:
    """Return a URL's parts, or raise what is wrong with it.

    `what` has the URL, `example` shows one, and `remedy` says where secrets go instead.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isascii() or any(each <= " " for each in url):
        raise BadOptionError(f"the url of {what} is an address of http or https", hint=example)
    if parts.username or parts.password:
        raise BadOptionError(
            f"the url of {what} has a password in it, and definitions are shown to everybody",
            hint=remedy,
        )
    for name, _ in parse_qsl(parts.query, keep_blank_values=True):
        if SECRET.search(name):
            raise BadOptionError(
                f"the url of {what} has the secret {name} in it, and definitions are shown to all",
                hint=remedy,
            )
    return parts


def port_of(address: SplitResult) -> int:
    """Return the port that an address leads to."""
    return address.port or PORTS[address.scheme]
