"""LISTEN on a channel, in a thread of its own, for as long as it is not closed."""

import threading
from collections.abc import Callable

import psycopg
from psycopg.sql import SQL, Identifier

from penstock.engine.clients.postgres.place import PostgresPlace
from penstock.engine.clients.postgres.session import connected
from penstock.errors import PenstockError

LOOK_SECONDS = 0.5  # how soon it sees that it was closed
FIRST_WAIT, MOST_WAIT = 0.5, 30.0  # seconds before a new connection


class Listener:
    """Calls `told` at each notification, and after each connection: some may have been missed."""

    def __init__(self, place: PostgresPlace, channel: str, told: Callable[[], None]) -> None:
        self._place, self._channel, self._told = place, channel, told
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-listen", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the connection and its thread."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        wait = FIRST_WAIT
        while not self._stop.is_set():
            try:
                with connected(self._place) as connection:
                    connection.execute(SQL("LISTEN {}").format(Identifier(self._channel)))
                    self._told()
                    wait = FIRST_WAIT
                    while not self._stop.is_set():
                        for _ in connection.notifies(timeout=LOOK_SECONDS):
                            self._told()
            except (psycopg.Error, PenstockError):  # reading the table says what is wrong
                self._stop.wait(wait)
                wait = min(MOST_WAIT, wait * 2)
