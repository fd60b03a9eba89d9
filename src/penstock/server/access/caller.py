"""Who asks."""

from dataclasses import dataclass
from enum import IntEnum


class Role(IntEnum):
    """What a caller may do; each may do what those below it may.

    READ asks and subscribes, WRITE pushes and defines, ADMIN steers the server and reaches
    outside.
    """

    READ = 1
    WRITE = 2
    ADMIN = 3


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the token's name, its role, and the streams it is limited to (None: all)."""

    name: str
    role: Role
    streams: frozenset[str] | None = None


LOCAL = Caller("local", Role.ADMIN)  # where no token is needed
