"""A real HTTP server for tests, on loopback: readings by a cursor, events, and what it was told."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.servers.ports import LOOPBACK, free_port

TOKEN = "t0ken/of=ours"


@dataclass
class WebServer:
    """What is there: `rows` by number, and `told`, the key and the rows of each request."""

    port: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    told: list[tuple[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    status: int = 200  # of every answer
    page: int = 3  # rows that an answer has at most
    ids: bool = True  # events have ids
    most_events: int = 0  # after so many a connection ends; 0: never
    _server: ThreadingHTTPServer | None = None
    _over: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Start it on its port."""
        self._over.clear()
        handler = type("Handler", (_Handler,), {"there": self})
        ThreadingHTTPServer.allow_reuse_address = True
        self._server = ThreadingHTTPServer((LOOPBACK, self.port), handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Stop it, and end what is connected."""
        self._over.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def url(self, path: str) -> str:
        """Return an address of it."""
        return f"http://{LOOPBACK}:{self.port}/{path}"


class _Handler(BaseHTTPRequestHandler):
    there: WebServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        there, address = self.there, urlsplit(self.path)
        if there._over.is_set():  # a connection that was left open
            self.close_connection = True
            return
        there.asked.append(self.path)
        given = parse_qs(address.query)
        if there.status != 200:
            self._answer(there.status, b"no")
        elif address.path == "/moved":
            self._answer(302, b"", Location=there.url("rows"))
        elif address.path == "/secret" and self.headers["Authorization"] != f"Bearer {TOKEN}":
            self._answer(401, b"")
        elif address.path == "/events":
            self._events()
        elif address.path == "/all":
            body = json.dumps(there.rows).encode()
            tag = f'"{len(there.rows)}"'
            same = self.headers["If-None-Match"] == tag
            self._answer(304 if same else 200, b"" if same else body, ETag=tag)
        elif address.path == "/lines":
            self._answer(200, "".join(f"{row['mph']}\n" for row in there.rows).encode())
        elif address.path == "/stuck":
            self._answer(200, json.dumps({"items": there.rows, "next": 7}).encode())
        elif address.path == "/nonsense":
            self._answer(200, b"<html>")
        else:
            first = int(given.get("since", ["0"])[0])
            page = there.rows[first : first + there.page]
            found = {"data": {"items": page}, "next": first + len(page)}
            self._answer(200, json.dumps(found).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.there._over.is_set():
            self.close_connection = True
            return
        if self.there.status == 200:
            self.there.told.append((self.headers["Idempotency-Key"], json.loads(body)))
        self._answer(self.there.status, b"")

    def _events(self) -> None:
        there = self.there
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        at = sent = int(self.headers["Last-Event-ID"] or (0 if there.ids else len(there.rows)))
        begun = at
        while not there._over.is_set():
            if there.most_events and sent - begun >= there.most_events:
                break
            if at < len(there.rows):
                name = f"id: {at + 1}\n" if there.ids else ""
                text = json.dumps(there.rows[at], indent=1).replace("\n", "\ndata: ")
                self.wfile.write(f"{name}event: reading\ndata: {text}\n\n".encode())
                at, sent = at + 1, sent + 1
            else:
                self.wfile.write(b": still here\n\n")
                time.sleep(0.02)
        self.close_connection = True

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def running_web() -> Iterator[WebServer]:
    """Run a server of its own."""
    server = WebServer(free_port())
    server.start()
    try:
        yield server
    finally:
        server.stop()
