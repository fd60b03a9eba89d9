"""What limits, besides order, which occurrences an operator may combine."""

from dataclasses import dataclass

from penstock.events.occurrences.batch import Batch, Ints


@dataclass(frozen=True, slots=True)
class OccurrenceBounds:
    """A span that all have to fit into, and a cap on what is held of each part and key.

    `point` compares ends only.
    """

    within: int | None = None
    cap: int | None = None
    point: bool = False

    def since(self, batch: Batch) -> Ints:
        """Return the times before which others have to end to precede these occurrences."""
        return batch.end if self.point else batch.start
