"""A double of a schema registry: it keeps schemas in memory and answers by real HTTP."""

import base64
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class RegistryDouble:
    """Schemas by their numbers and by subject and version; with `password` for user `reader`."""

    url: str = ""
    password: str = ""
    asked: list[str] = field(default_factory=list)
    _schemas: dict[int, dict[str, Any]] = field(default_factory=dict)
    _subjects: dict[str, int] = field(default_factory=dict)

    def add(self, subject: str, schema: Any, references: Sequence[tuple[str, str]] = ()) -> int:
        """Keep a schema (JSON, or bytes of a descriptor) that refers to others by name, subject."""
        is_json = not isinstance(schema, bytes)
        text = json.dumps(schema) if is_json else base64.b64encode(bytes(schema)).decode()
        told = [{"name": name, "subject": other, "version": 1} for name, other in references]
        number = len(self._schemas) + 1
        self._schemas[number] = {"schema": text, "references": told}
        self._subjects[subject] = number
        return number

    def answer(self, path: str, authorization: str) -> tuple[int, dict[str, Any]]:
        """Return the status and the body that a request gets."""
        self.asked.append(path)
        login = base64.b64encode(f"reader:{self.password}".encode()).decode()
        if self.password and authorization != f"Basic {login}":
            return 401, {"error_code": 401, "message": "Unauthorized"}
        match path.partition("?")[0].strip("/").split("/"):
            case ["schemas", "ids", number] if int(number) in self._schemas:
                return 200, self._schemas[int(number)]
            case ["subjects", subject, "versions", "1"] if subject in self._subjects:
                return 200, self._schemas[self._subjects[subject]]
        return 404, {"error_code": 40403, "message": "Schema not found"}


@contextmanager
def running_registry() -> Iterator[RegistryDouble]:
    """Answer on a free port of loopback."""
    double = RegistryDouble()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = double.answer(self.path, self.headers.get("Authorization", ""))
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    double.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield double
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
