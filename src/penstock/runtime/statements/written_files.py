"""Files that statements write: EXPLAIN SCHEDULE … INTO, SHOW SITES … INTO.

Only where statements may write (engine/allowed.py), never inside of the home, and never over a file
that was somebody else's: the home remembers those that it wrote.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.engine.allowed import Allowed
from penstock.errors import BadOptionError, NotAllowedError
from penstock.runtime.durable.home import Home


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """The files that statements have written, as the home remembers them."""

    home: Home
    allowed: Callable[[], Allowed]

    def write(self, name: str, write: Callable[[Path], object]) -> str:
        """Have `write` write the file that a statement names; return the reply."""
        try:
            path = Path(name).expanduser().resolve()  # a link leads where it leads
            self.allowed().require_writable(path)
            self._refuse_home(path)
            self._refuse_others(path)
            self.home.note_written(path)
            write(path)
        except (OSError, ValueError, RuntimeError) as error:  # no such user, a loop of links, zero
            why = getattr(error, "strerror", None) or "there can be no such file"
            raise BadOptionError(f"{name} cannot be written: {why}") from None
        return f"{name} written"

    def _refuse_home(self, path: Path) -> None:
        if path.is_relative_to(self.home.path.resolve()):
            raise NotAllowedError(
                f"{path} lies in the home, which has files of its own",
                hint="name another directory",
            )

    def _refuse_others(self, path: Path) -> None:
        if path.exists() and str(path) not in self.home.written():
            raise NotAllowedError(
                f"there is a file {path} already, which no statement wrote",
                hint="name another file, or remove this one",
            )
