"""The watchdog: makes an error of a wait in which nothing moves."""

from dataclasses import dataclass

from penstock.errors import StalledError

# A worker that is busy counts as progress, and so does every look of the supervisor: where neither
# comes for so long, nobody is going to do what is waited for.
STALL_SECONDS = 60.0


@dataclass(slots=True)
class Watchdog:
    """Looks at marks that change while there is progress; times are passed in."""

    seconds: float = STALL_SECONDS
    _mark: object = None
    _since: float = 0.0

    def sees_no_progress(self, mark: object, now: float) -> bool:
        """Say whether the mark has been the same for too long."""
        if mark != self._mark:
            self._mark, self._since = mark, now
        return now - self._since >= self.seconds


def stalled() -> StalledError:
    """Return what to tell of a wait that would not end."""
    return StalledError(
        "recorded runs are to be done again, and nothing does them",
        hint="nothing is lost: end the process, and the same command goes on; please report it",
    )
