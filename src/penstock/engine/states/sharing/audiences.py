"""Audiences: who wants a row that is kept once for many, by a number that the row carries.

Who comes is in no audience yet, and who goes is taken out of all of them: rows stay as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]
WORD = 8  # bytes of one number


@dataclass(frozen=True, slots=True)
class Audiences:
    """`wanted` says of each audience, a row, who of `names` is in it; `numbers` ascend."""

    names: tuple[str, ...] = ()
    numbers: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    wanted: Bools = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))
    following: int = 0

    def of(self, wanted: Bools) -> tuple[Self, Ints]:
        """Return the number of the audience of each row, and the audiences with those."""
        if not len(wanted):
            return self, np.zeros(0, dtype=np.int64)
        codes = _codes(wanted)
        _, firsts, places = np.unique(codes, return_index=True, return_inverse=True)
        known = {each.tobytes(): n for each, n in zip(self.wanted, self.numbers, strict=True)}
        found = [known.get(wanted[first].tobytes()) for first in firsts]
        new = [first for first, number in zip(firsts, found, strict=True) if number is None]
        fresh = iter(range(self.following, self.following + len(new)))
        numbers = np.array([next(fresh) if n is None else n for n in found], dtype=np.int64)
        more = replace(
            self,
            numbers=np.concatenate([self.numbers, np.arange(len(new)) + self.following]),
            wanted=np.concatenate([self.wanted, wanted[new]]),
            following=self.following + len(new),
        )
        return more, numbers[places]

    def places(self, numbers: Ints) -> Ints:
        """Return where these audiences stand."""
        return np.searchsorted(self.numbers, numbers)

    def having(self, name: str) -> Bools:
        """Say of each audience whether somebody is in it."""
        return self.wanted[:, self.names.index(name)]

    def among(self, names: Sequence[str]) -> Self:
        """Return the same audiences of others, as far as they were there before."""
        wanted = np.zeros((len(self.numbers), len(names)), dtype=bool)
        for place, name in enumerate(names):
            if name in self.names:
                wanted[:, place] = self.having(name)
        return replace(self, names=tuple(names), wanted=wanted)

    def only(self, numbers: Ints) -> Self:
        """Return the audiences that have one of these numbers."""
        some = np.isin(self.numbers, numbers)
        return replace(self, numbers=self.numbers[some], wanted=self.wanted[some])

    def to_json(self) -> dict[str, Any]:
        """Return them as JSON can hold them."""
        rows = [np.packbits(row).tobytes().hex() for row in self.wanted]
        kept = {"names": list(self.names), "following": self.following}
        return kept | {"numbers": self.numbers.tolist(), "wanted": rows}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """Return what `to_json` kept."""
        names, rows = tuple(kept["names"]), [bytes.fromhex(row) for row in kept["wanted"]]
        wanted = np.zeros((len(rows), len(names)), dtype=bool)
        for place, row in enumerate(rows):
            bits = np.unpackbits(np.frombuffer(row, dtype=np.uint8), count=len(names))
            wanted[place] = bits.astype(bool)
        numbers = np.array(kept["numbers"], dtype=np.int64)
        return cls(names, numbers, wanted, kept["following"])


def _codes(wanted: Bools) -> np.ndarray[Any, Any]:
    """Return one value a row, equal where rows are."""
    packed = np.packbits(wanted, axis=1)
    width = max(WORD, packed.shape[1])
    padded = np.zeros((len(packed), width), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64 if width == WORD else f"V{width}").ravel()
