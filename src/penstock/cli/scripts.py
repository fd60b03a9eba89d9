"""Reading a script: a file, or standard input as `-`."""

import sys
from pathlib import Path

from penstock.errors import BadOptionError, Place

STDIN = "-"


def read_script(name: str) -> str:
    """Return a script's text, or raise why it cannot be read."""
    try:
        raw = sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
    except FileNotFoundError:
        raise BadOptionError(
            f"there is no script {name}", hint=f"it was looked for as {Path(name).absolute()}"
        ) from None
    except IsADirectoryError:
        raise BadOptionError(f"{name} is a directory", hint="name one .sql file in it") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL in it
        raise BadOptionError(f"the script {name} cannot be read: {error}") from None
    return decoded(raw, name)


def decoded(raw: bytes, name: str) -> str:
    """Return the text of a script, which has to be UTF-8."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8-sig").splitlines() or [""]
        raise BadOptionError(
            f"the script {name} is not UTF-8",
            hint="save it as UTF-8",
            place=Place(len(before), len(before[-1]) + 1),
        ) from None
