"""The audit log: who changed what, and who was refused, one line of JSON each."""

import json
import logging
import os
import threading
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path

from penstock.errors import ConfigurationError, shortened
from penstock.server.access.caller import Caller

LOG = logging.getLogger("penstock.server")
REQUEST: ContextVar[str] = ContextVar("request", default="")  # the id of what is being answered
LONGEST = 10_000  # characters of a statement that are kept


class AuditLog:
    """Appends to one file; a line is whole, or it is not there."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise ConfigurationError(
                f"the audit log {path} cannot be written: {error.strerror}",
                hint="log.audit names another file",
            ) from None
        self._lock = threading.Lock()

    def note(self, caller: Caller, what: str, outcome: str) -> None:
        """Keep who did what, and whether it was done; `outcome` is `done` or an error's code."""
        line = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "caller": caller.name,
            "role": caller.role.name.lower(),
            "request": REQUEST.get(),
            "statement": shortened(what, LONGEST),
            "outcome": outcome,
        }
        try:
            with self._lock:
                os.write(self._handle, json.dumps(line, ensure_ascii=False).encode() + b"\n")
        except OSError:
            LOG.exception("the audit log cannot be written")

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)
