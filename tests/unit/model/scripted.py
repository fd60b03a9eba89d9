"""A source that follows a script: trains, pauses, failures, the end."""

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

import pyarrow as pa

from penstock.engine.interfaces.interface import Boundary, Ingest, Interface, Offer
from penstock.errors import SourceError


class Sign(Enum):
    """What may stand between trains."""

    PAUSE = "nothing waits when it is asked"
    FAIL = "it cannot be asked"
    FAIL_READ = "the train before it cannot be read the first time"
    END = "nothing follows"


PAUSE, FAIL, FAIL_READ, END = Sign.PAUSE, Sign.FAIL, Sign.FAIL_READ, Sign.END

Step: TypeAlias = "pa.Table | Ingest | Sign"


@dataclass
class ScriptedSource(Interface):
    """Boundaries are places in the script, so that reading one again gives the same rows."""

    script: list[Step]
    after: Boundary | None = None
    committed: list[Boundary] = field(default_factory=list)
    is_open: bool = False
    _at: int = 0
    _failed: set[int] = field(default_factory=set)

    @property
    def bounded(self) -> bool:
        return END in self.script

    @property
    def ended(self) -> bool:
        return self._at < len(self.script) and self.script[self._at] is END

    def open(self, after: Boundary | None) -> None:
        self.after, self.is_open = after, True
        self._at = 0 if after is None else after["at"] + 1

    def next(self) -> Offer | None:
        while self._at < len(self.script):
            step = self.script[self._at]
            if step is END:
                return None
            self._at += 1
            match step:
                case Sign.PAUSE:
                    return None
                case Sign.FAIL:
                    raise SourceError("the script says so")
                case Sign.FAIL_READ:
                    continue
                case _:
                    return Offer({"at": self._at - 1}, float(self._at))
        return None

    def read(self, boundary: Boundary) -> Ingest:
        at = boundary["at"]
        follows = self.script[at + 1] if at + 1 < len(self.script) else None
        if follows is FAIL_READ and at not in self._failed:
            self._failed.add(at)
            raise SourceError("the script says so")
        step = self.script[at]
        assert not isinstance(step, Sign)
        return step if isinstance(step, Ingest) else Ingest(step)

    def commit(self, boundary: Boundary) -> None:
        self.committed.append(boundary)

    def close(self) -> None:
        self.is_open = False
