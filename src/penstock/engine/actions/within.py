"""Work that may hang, with a limit on how long anybody waits for it."""

import threading
from collections.abc import Callable

from penstock.errors import ActionError


def within(seconds: float, work: Callable[[], None], abandon: Callable[[], None]) -> None:
    """Do the work in a thread of its own; after so many seconds leave it behind and raise.

    `abandon` is called then, to make it end where that can be done.
    """
    failures: list[BaseException] = []

    def does() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=does, name="penstock-action", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        abandon()
        raise ActionError(f"it took longer than {seconds:g} s")
    if failures:
        raise failures[0]
