"""Where sinks may write: where all statements may, but in no room of the home, nor what is read."""

import glob
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from penstock.engine.allowed import Allowed
from penstock.engine.connectors import sinks
from penstock.engine.interfaces.formats.listing import is_pattern
from penstock.engine.options import local_path
from penstock.engine.sinks.delta.delta import DeltaSink
from penstock.engine.sinks.files import FilesSink
from penstock.engine.sinks.sink import Reaching
from penstock.errors import BadOptionError
from penstock.model.definitions import QueryDefinition, StreamDefinition
from penstock.runtime.durable.home import ROOMS
from penstock.runtime.names.directory import Directory


@dataclass(frozen=True, slots=True)
class SinkPlaces:
    """Knows where the home is, what is defined, and what is allowed."""

    home: Path
    directory: Directory
    allowed: Callable[[], Allowed]

    def refuse_sink(self, query: QueryDefinition) -> None:
        """Raise where a query would write outside of where it may, or where a stream reads."""
        sink: object = sinks.build(query)
        if isinstance(sink, Reaching):
            sink.require_allowed(self.allowed())
        parts = parts_of(query)
        if parts is None:
            return
        self.allowed().require_writable(parts.parent)
        home = self.home.resolve()
        if parts.parent == home or any(parts.is_relative_to(home / room) for room in ROOMS):
            raise BadOptionError(
                f"{parts.parent} belongs to the home {home}, which removes what it does not know",
                hint="name a directory outside of the home",
            )
        for known in self.directory.streams():
            if reads(known.definition, parts):
                raise _source_readers(query.name, known.definition.name, parts.parent)

    def refuse_source(self, stream: StreamDefinition) -> None:
        """Raise where a stream would read what a query writes."""
        for known in self.directory.queries():
            parts = parts_of(known.definition)
            if parts is not None and reads(stream, parts):
                raise _source_readers(known.definition.name, stream.name, parts.parent)


def parts_of(query: QueryDefinition) -> Path | None:
    """Return where a query's parts would be, links resolved, or None where it has no files."""
    match query.sink.name if query.sink is not None else "":
        case "files":
            sink = FilesSink(query)
            return sink.path.resolve() / sink.name_of(1)
        case "delta":
            return DeltaSink(query).path.resolve() / "part.parquet"
        case _:
            return None


def reads(stream: StreamDefinition, parts: Path) -> bool:
    """Say whether a stream's source would find such a file."""
    option = dict(stream.source.options).get("path")
    if not isinstance(option, str):
        return False
    try:
        path = str(local_path(option))
    except ValueError:  # another machine's
        return False
    if not is_pattern(path):
        place = Path(path).resolve()
        # These read directories inside, too.
        below = (
            stream.source.name in ("delta", "spark") or stream.source.option("recursive") is True
        )
        return place in (parts, parts.parent) or (below and parts.is_relative_to(place))
    return _matches_pattern(path, parts)


def _matches_pattern(path: str, parts: Path) -> bool:
    fixed, pattern = Path(path), list[str]()
    while glob.has_magic(str(fixed)):
        fixed, pattern = fixed.parent, [fixed.name, *pattern]
    root = fixed.resolve()
    return parts.is_relative_to(root) and _matches(pattern, parts.relative_to(root).parts)


def _matches(pattern: Sequence[str], names: Sequence[str]) -> bool:
    if not pattern:
        return not names
    if pattern[0] == "**":
        return any(_matches(pattern[1:], names[at:]) for at in range(len(names) + 1))
    fits = bool(names) and fnmatchcase(names[0], pattern[0])
    return fits and _matches(pattern[1:], names[1:])


def _source_readers(query: str, stream: str, directory: Path) -> BadOptionError:
    return BadOptionError(
        f"query {query} writes to {directory}, where stream {stream} reads",
        hint=f"name another directory; what {query} gives is read with FROM {query}",
    )
