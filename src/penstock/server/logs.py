"""Logs on standard error: a line of text, or of JSON, each with the id of its request."""

import json
import logging
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from penstock.errors import shortened
from penstock.server.access.audit import REQUEST

LOGGERS = ("penstock", "uvicorn.error")
SERVER = "penstock.server"
EXTRA = "facts"  # what a record has besides its message: `extra={"facts": {…}}`
LONGEST = 20_000  # characters of a trace
UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class _Text(logging.Formatter):
    """`2026-11-19T03:00:00.000+00:00 INFO message name=value request=id`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, or several where there is a trace."""
        facts = {**getattr(record, EXTRA, {}), **_request()}
        told = "".join(f" {name}={value}" for name, value in facts.items())
        line = f"{_at(record)} {record.levelname} {_on_one_line(record.getMessage() + told)}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class _Json(logging.Formatter):
    """One object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        line: dict[str, Any] = {
            "at": _at(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, EXTRA, {}),
            **_request(),
        }
        if record.exc_info:
            line["trace"] = shortened(self.formatException(record.exc_info), LONGEST)
        return json.dumps(line, ensure_ascii=False, default=str)


FORMATS: dict[str, type[logging.Formatter]] = {"text": _Text, "json": _Json}


def log_to_standard_error(level: str, form: str) -> logging.Handler:
    """Send what the server says, from a level on, to standard error; return what writes it."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(FORMATS[form]())
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.setLevel(level.upper() if name == "penstock" else logging.WARNING)
        logger.addHandler(handler)
        logger.propagate = False
    return handler


def teller(handler: logging.Handler, plainly: Callable[[str], None]) -> Callable[[str], None]:
    """Return what tells how far the server is, whatever the level: lines of the log if it is JSON.

    Who reads JSON could not read others between them; who reads text waits for `ready`.
    """
    if not isinstance(handler.formatter, _Json):
        return plainly

    def tell(line: str) -> None:
        told = (SERVER, logging.INFO, __file__, 0, line, None, None)
        handler.handle(logging.LogRecord(*told))

    return tell


def log_no_more(handler: logging.Handler) -> None:
    """Take the handler away again."""
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.removeHandler(handler)
        logger.propagate = True


def _on_one_line(text: str) -> str:
    """Return a text without what begins lines or steers terminals: clients send it, too."""
    return UNSHOWN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _request() -> dict[str, str]:
    return {"request": REQUEST.get()} if REQUEST.get() else {}


def _at(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
