"""Where typed text is a whole statement: at a `;` outside strings, names and comments."""

import re

# What may hold a `;` that ends nothing. Left open, it runs to the end of the text.
CLOSED = re.compile(
    r"""
      '(?:[^'\\]|\\.|'')*'
    | "(?:[^"\\]|\\.|"")*"
    | `(?:[^`]|``)*`
    | --[^\n]*
    | /\*.*?\*/
    """,
    re.VERBOSE | re.DOTALL,
)
OPEN = re.compile(r"""['"`]|/\*""")


def is_complete(text: str) -> bool:
    """Say whether the text ends with a `;` that ends a statement."""
    bare = CLOSED.sub(_blank, text)
    return OPEN.search(bare) is None and bare.rstrip().endswith(";")


def _blank(found: re.Match[str]) -> str:
    return " " if found[0].startswith(("--", "/*")) else "x"
