"""Parts of the documentation that the code says itself, as Markdown.

The site's build puts each where a page holds `<!-- generated: NAME -->`: it asks for
`python scripts/docs_generated.py NAME`, since the site has an environment without what the code
imports.
"""

import importlib
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
HELP_COLUMNS = "88"  # the width that `--help` is laid out for: what fits on a page


def _error_list() -> str:
    """Return every error: its code, its class, its sentence and what to do about it."""
    sys.path.insert(0, str(ROOT / "src"))
    errors = importlib.import_module("penstock.errors")
    return "\n\n".join(map(_section, _below(errors.PenstockError)))


def _section(kind: type) -> str:
    """Return what one error is and what to do about it, under its code."""
    sentence, _, advice = (inspect.getdoc(kind) or "").partition("\n\n")
    return f"## {kind.code}\n`{kind.__name__}`: {sentence}\n\n*What to do:* {advice}"


def _below(kind: type) -> Iterator[type]:
    """Walk the classes below one, each before those below it."""
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def _command_help() -> str:
    """Return `--help` of every command, as the program prints it."""
    commands = re.findall(r"^    (\w+) ", _help(), re.MULTILINE)
    return "\n\n".join(f"```text\n{_help(command)}```" for command in ["", *commands])


def _help(*words: str) -> str:
    return subprocess.run(  # noqa: S603  (our own program)
        ["penstock", *filter(None, words), "--help"],  # noqa: S607  (make puts it on the path)
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": HELP_COLUMNS, "PYTHONPATH": str(ROOT / "src")},
    ).stdout


def _settings() -> str:
    """Return every setting of the server as a table."""
    sys.path.insert(0, str(ROOT / "src"))
    settings = importlib.import_module("penstock.server.configuration.settings").SETTINGS
    rows = ["| setting | option | default | what it is |", "| --- | --- | --- | --- |"]
    for each in settings:
        flag = f"`{each.flag}`" if each.flag else ""
        about = f"{each.about}; {each.kind.words}".replace("|", "\\|")
        rows.append(f"| `{each.place}` | {flag} | `{each.kind.write(each.default)}` | {about} |")
    return "\n".join(rows)


GENERATED = {"errors": _error_list, "help": _command_help, "settings": _settings}

if __name__ == "__main__":
    sys.stdout.write(GENERATED[sys.argv[1]]())
