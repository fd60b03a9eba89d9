"""Strategy by need (ANA-09): where memory is short, one that frees it; else one that is quick."""

from dataclasses import dataclass, replace

from penstock.schedule.choice import Choice

SHORT, ENOUGH = 0.8, 0.5  # of the memory that there is: between them nothing changes
PATIENCE_SECONDS = 30.0  # until memory is believed to be enough again
FOR_MEMORY, FOR_LATENCY = Choice("simplified_segment"), Choice("pcs")


@dataclass(frozen=True, slots=True)
class Need:
    """What is needed most, and since when memory has been enough again."""

    is_memory: bool = False
    enough_since: float | None = None

    @property
    def strategy(self) -> Choice:
        """Return the strategy that serves it."""
        return FOR_MEMORY if self.is_memory else FOR_LATENCY


def need(before: Need, memory_bytes: float, there_is: float, now: float) -> Need:
    """Return what is needed from now on, by the memory in use or the memory that is estimated."""
    share = memory_bytes / there_is if there_is > 0 else 1.0
    if share > SHORT:
        return Need(is_memory=True)
    if not before.is_memory or share > ENOUGH:
        return replace(before, enough_since=None)
    since = now if before.enough_since is None else before.enough_since
    if now - since < PATIENCE_SECONDS:
        return replace(before, enough_since=since)
    return Need()
