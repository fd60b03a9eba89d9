"""Completion: keywords, the names of streams, tables and queries, and their columns."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from penstock.cli.shell.keywords import CONNECTORS, FUNCTIONS, KEYWORDS, TYPES
from penstock.model.grids import CELLS
from penstock.model.schema import Schema
from penstock.runtime.names.directory import (
    Directory,
    KnownBase,
    KnownEvent,
    KnownPerspective,
    KnownQuery,
    KnownRule,
    KnownStream,
    KnownTable,
)

Names = Mapping[str, Sequence[str]]  # what there is, with its columns

WORD = re.compile(r"[\w.]*$")
# After these words a stream, table or query is meant.
BEFORE_NAME = re.compile(
    r"\b(?:FROM|JOIN|DESCRIBE|EXPLAIN|QUERY|STREAM|TABLE)\s+[\w.]*$", re.IGNORECASE
)
DOT_COMMAND = re.compile(r"\s*(\.\w*)$")
WATCHED = re.compile(r"\s*\.watch\s+(\w*)$")


class SqlCompleter(Completer):
    """Completes the word before the cursor; `names` is asked each time."""

    def __init__(self, names: Callable[[], Names], dot_commands: Sequence[str]) -> None:
        self._names, self._dot_commands = names, dot_commands

    def get_completions(self, document: Document, _: CompleteEvent) -> Iterable[Completion]:
        """Return what the word may become."""
        before = document.text_before_cursor
        for word, begun in candidates(before, self._names(), self._dot_commands):
            yield Completion(word, start_position=-len(begun))


def candidates(before: str, names: Names, dot_commands: Sequence[str]) -> list[tuple[str, str]]:
    """Return words that may stand at the text's end, each with what is there of it."""
    if command := DOT_COMMAND.fullmatch(before):
        return _fitting(command[1], dot_commands)
    if watched := WATCHED.fullmatch(before):
        return _fitting(watched[1], names)
    found = WORD.search(before)
    word = found[0] if found else ""
    owner, dot, part = word.rpartition(".")
    if dot:
        return _fitting(part, _columns(owner, before, names))
    if BEFORE_NAME.search(before):
        return _fitting(word, names)
    if not word:
        return []
    words = [*KEYWORDS, *TYPES]
    columns = {column for each in names.values() for column in each}
    plain = [*names, *sorted(columns), *FUNCTIONS, *CONNECTORS]
    cased = [each.lower() for each in words] if word.islower() else words
    return _fitting(word, [*plain, *cased])


def known_names(directory: Directory) -> Names:
    """Return what a directory has, with its columns."""
    found: dict[str, Sequence[str]] = {}
    for entry in list(directory.known.values()):
        match entry:
            case KnownStream():
                schema = entry.definition.schema
            case KnownQuery():
                schema = entry.root.schema
            case KnownTable():
                schema = entry.schema
            case KnownBase() | KnownPerspective():
                schema = CELLS
            case KnownRule():
                schema = Schema()
            case KnownEvent(bound=bound):  # what nobody has read yet is not bound for this
                schema = next((root.schema for root in bound.values()), Schema())
        found[entry.definition.name] = schema.names
    return found


def _fitting(begun: str, words: Iterable[str]) -> list[tuple[str, str]]:
    lower = begun.lower()
    return [(word, begun) for word in dict.fromkeys(words) if word.lower().startswith(lower)]


def _columns(owner: str, text: str, names: Names) -> Sequence[str]:
    """Return the columns of a name, or of what the text gives that name to."""
    by_name = {name.lower(): columns for name, columns in names.items()}
    alias = re.search(
        rf"\b(\w+)\s*(?:\[[^\]]*\])?\s+(?:AS\s+)?{re.escape(owner)}\b", text, re.IGNORECASE
    )
    meant = alias[1] if alias and owner.lower() not in by_name else owner
    return by_name.get(meant.lower(), ())
