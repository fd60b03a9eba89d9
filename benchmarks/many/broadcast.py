"""Lines of text to whoever connects: the nearest that Structured Streaming has to a push."""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Any, Self


class Broadcast:
    """A server on a port of its own that says to every reader what is pushed from then on."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0), backlog=2_048)
        self._readers: list[socket.socket] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._accepting.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        for reader in self._readers:
            reader.close()

    @property
    def port(self) -> int:
        """Return where to connect."""
        return int(self._server.getsockname()[1])

    def push(self, row: dict[str, Any]) -> None:
        """Say a row, its values separated by commas, to all that listen."""
        line = (",".join(str(value) for value in row.values()) + "\n").encode()
        for reader in list(self._readers):
            with contextlib.suppress(OSError):  # one that has gone
                reader.sendall(line)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                reader, _ = self._server.accept()
                reader.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._readers.append(reader)
