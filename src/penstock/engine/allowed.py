"""What the operator lets statements and rules reach: programs, hosts, formats, directories.

Files are written below the working directory and the directories that are `writable`. They are read
from everywhere; where directories are `readable`, from these and from wherever may be written,
alone. A link leads where it leads.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import takewhile
from pathlib import Path

from penstock.errors import NotAllowedError

PATTERN = re.compile(r"[*?\[{\\]")  # of the patterns of Python's and of Spark's


@dataclass(frozen=True, slots=True)
class Allowed:
    """Programs by whole paths, hosts as `host` or `host:port`, Spark's sources by their formats."""

    programs: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    formats: frozenset[str] = frozenset()
    writable: frozenset[str] = frozenset()
    readable: frozenset[str] = frozenset()

    def __or__(self, other: "Allowed") -> "Allowed":
        """Return what either allows."""
        return Allowed(*(getattr(self, f.name) | getattr(other, f.name) for f in fields(self)))

    def require_writable(self, path: Path) -> None:
        """Raise where statements may not write such a file or directory."""
        place = path.expanduser().resolve()
        if not _is_below(place, _roots(self.writable)):
            raise NotAllowedError(
                f"{place} may not be written",
                hint="statements write below the working directory; the operator can allow others: "
                f"connect(writable=['{place.parent}']), --writable, or a line of the file "
                "`writable` in the home",
            )

    def require_host(self, host: str, port: int) -> None:
        """Raise where connectors may not reach a host; `port` is its port where none is given."""
        known = {each.lower() for each in self.hosts}
        if not known & {host.lower(), f"{host.lower()}:{port}"}:
            raise NotAllowedError(
                f"no connector may reach {host}:{port}",
                hint=f"the operator allows hosts: connect(hosts=['{host}']), --allow-host {host}, "
                "allow.hosts of a server, or a line of the file `hosts` in the home",
            )

    def require_readable(self, path: str) -> None:
        """Raise where statements may not read such a file, directory or pattern.

        Other storage is read with the operator's credentials: it has to be named.
        """
        if (uri := _uri(path)) is not None:
            named = map(_uri, self.readable | self.writable)
            if not any(each is not None and _is_inside(uri, each) for each in named):
                raise NotAllowedError(
                    f"{path} may not be read",
                    hint=f"the operator names what is read of other storage: --readable {path}, "
                    f"connect(readable=['{path}']), allow.readable of a server, or a line of the "
                    "file `readable` in the home",
                )
            return
        if all(_uri(each) is not None for each in self.readable):
            return
        place = _fixed(path)
        if place is None or not _is_below(place, _roots(self.readable | self.writable)):
            raise NotAllowedError(
                f"{path} may not be read",
                hint="the operator has named the directories that are read: "
                "connect(readable=[…]), --readable, or a line of the file `readable` in the home",
            )

    def names_readable(self, path: str) -> bool:
        """Say whether a directory is named, not just the working one, from which that is read."""
        place = _fixed(path)
        return place is not None and _is_below(place, _named(self.readable | self.writable))

    def names_writable(self, path: str) -> bool:
        """Say whether a directory is named, not just the working one, below which that is."""
        return _is_below(Path(path).expanduser().resolve(), _named(self.writable))


def _fixed(path: str) -> Path | None:
    """Return what of a pattern is no pattern, or None where it leads up behind that."""
    fixed = list(takewhile(lambda part: not PATTERN.search(part), Path(path).parts))
    leads_up = any(".." in part for part in Path(path).parts[len(fixed) :])
    return None if leads_up else Path(*fixed).resolve()


def _roots(named: Iterable[str]) -> list[Path]:
    here = Path.cwd()
    # A service that nobody gave a directory works in the root, which means nothing.
    beginning = [] if here == here.parent else [here]
    return [*beginning, *_named(named)]


def _named(directories: Iterable[str]) -> list[Path]:
    return [Path(each).expanduser().resolve() for each in directories if _uri(each) is None]


def _uri(path: str) -> str | None:
    """Return a place of other storage, or None where it is one of this machine."""
    return path.rstrip("/").replace("s3a://", "s3://", 1) if "://" in path else None


def _is_inside(uri: str, root: str) -> bool:
    return uri == root or uri.startswith(f"{root}/")


def _is_below(place: Path, roots: Iterable[Path]) -> bool:
    return any(place.is_relative_to(root) for root in roots)
