"""Pages of the documentation, run from top to bottom as a reader would.

A fenced block is one of these:

    ```sql title="name"    a file that the reader writes (any language with a title)
    ```sh                  commands, one a line or with a here-document
    ```python              a script; names of earlier ones stay known
    ```text, csv, json     what the commands or the script just above have printed, where `…`
                           stands for anything
    ```console             what needs another machine, and is not run
"""

import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.main import main

FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
HERE_DOCUMENT = re.compile(r"([^\n]*) <<'(\w+)'\n(.*?)^\2$\n?", re.MULTILINE | re.DOTALL)
SHOWN = {"text", "csv", "json"}
ELSEWHERE = {"console"}
# What sets a reader's machine up, and has happened where tests run.
SET_UP = {"make setup", ". .venv/bin/activate"}


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    kind: str
    title: str
    code: str
    line: int


@dataclass(frozen=True)
class Command:
    """One command of a shell block, and what it reads from standard input."""

    line: str
    standard_input: str = ""


def blocks(page: Path) -> Iterator[Block]:
    """Walk the fenced blocks of a page."""
    text = page.read_text()
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        yield Block(found[1], found[2] or "", found[3], line)


def commands(code: str) -> Iterator[Command]:
    """Walk the commands of a shell block."""
    rest = code.replace("\\\n", " ")
    while rest:
        if found := HERE_DOCUMENT.match(rest):
            yield Command(found[1], found[3])
            rest = rest[found.end() :]
        else:
            line, _, rest = rest.partition("\n")
            if line and not line.startswith("#"):
                yield Command(line)


class Reader:
    """Does in the working directory what a page says, and compares what it shows."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._printed: str | None = None

    def follow(self, page: Path, *kinds: str) -> None:
        """Do everything that a page says, in order, or its blocks of some kinds alone."""
        for block in blocks(page):
            if kinds and block.kind not in kinds:
                continue
            where = f"{page.name}:{block.line}"
            if block.title:
                Path(block.title).write_text(block.code)
            elif block.kind == "sh":
                self._printed = "".join(self._done(each, where) for each in commands(block.code))
            elif block.kind == "python":
                self._printed = self._executed(block.code, where)
            elif block.kind in SHOWN:
                assert self._printed is not None, f"{where}: nothing was run above it"
                assert is_like(self._printed, block.code), f"{where} printed:\n{self._printed}"
            elif block.kind not in ELSEWHERE:
                pytest.fail(f"{where}: nobody runs a block of {block.kind} without a title")

    def _executed(self, code: str, where: str) -> str:
        with printing() as printed:
            exec(compile(code, where, "exec"), self._names)
        return text_of(printed)

    def _done(self, command: Command, where: str) -> str:
        if command.line in SET_UP:
            return ""
        if command.line.startswith("penstock "):
            return self._penstock(command, where)
        shell = subprocess.run(
            command.line,
            shell=True,
            input=command.standard_input,
            text=True,
            capture_output=True,
            check=False,
        )
        assert shell.returncode == 0, f"{where}: {command.line}: {shell.stderr}"
        return shell.stdout

    def _penstock(self, command: Command, where: str) -> str:
        """Call the program in this process: the Spark of all tests is here already."""
        line, _, code = command.line.partition("  # exit code ")
        given_input = io.BytesIO(command.standard_input.encode())
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(given_input))
        with printing() as printed:
            given = exit_code(shlex.split(line)[1:])
        assert given == int(code or 0), f"{where}: {command.line} ended with {given}"
        return text_of(printed)


def printing() -> redirect_stdout[io.TextIOWrapper]:
    """Keep what is printed, whether as text or as bytes."""
    return redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True))


def text_of(printed: io.TextIOWrapper) -> str:
    """Return all that was printed."""
    printed.seek(0)
    return printed.read()


def exit_code(words: list[str]) -> int | str | None:
    """Return the exit code of a command line of Penstock; `--version` and `--help` exit."""
    try:
        return main(words)
    except SystemExit as end:
        return end.code


def is_like(printed: str, shown: str) -> bool:
    """Return whether a page shows what was printed."""
    pattern = ".*?".join(re.escape(each) for each in shown.strip().split("…"))
    lines = "\n".join(line.rstrip() for line in printed.strip().splitlines())
    return re.fullmatch(pattern, lines, re.DOTALL) is not None
