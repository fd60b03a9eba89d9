"""ORDERED BY: the column of a stream whose values grow in the long run, and what is known of it."""

from dataclasses import dataclass

from penstock.errors import BadOptionError

MOST = 1 << 31  # tuples: to keep so many behind is to keep everything


@dataclass(frozen=True, slots=True)
class KeyOrder:
    """What a stream's owner says of its order; what is None is measured.

    No tuple comes more than `scrambled` positions after one whose key is not below its own: the
    scrambling factor, in which equal keys count as disorder. `rate` is in tuples a second, and
    `duplicates` how many tuples have one key at most.
    """

    column: str
    scrambled: int | None = None
    rate: float | None = None
    duplicates: int | None = None

    def __post_init__(self) -> None:
        """Refuse what no stream can be like."""
        if self.scrambled is not None and not 0 <= self.scrambled < MOST:
            raise BadOptionError(f"SCRAMBLED {self.scrambled} must be from 0 to {MOST - 1:,}")
        if self.rate is not None and not 0 < self.rate < float("inf"):
            raise BadOptionError(f"RATE {self.rate:g} must be above zero")
        if self.duplicates is not None and not 1 <= self.duplicates < MOST:
            raise BadOptionError(
                f"DUPLICATES {self.duplicates} must be from 1 to {MOST - 1:,}",
                hint="it is how many tuples have one key at most; without any it is 1",
            )

    @property
    def factor(self) -> int | None:
        """Return the scrambling factor, or None where it is to be measured."""
        if self.scrambled is None:
            return None
        return max(self.scrambled, (self.duplicates or 1) - 1)  # ledger C1

    def text(self) -> str:
        """Show what was said, as it is written."""
        said = (
            (" SCRAMBLED", self.scrambled),
            (" RATE", None if self.rate is None else f"{self.rate:g}"),
            (" DUPLICATES", self.duplicates),
        )
        return self.column + "".join(f"{word} {it}" for word, it in said if it is not None)
