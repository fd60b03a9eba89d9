"""A real MQTT broker for tests: Mosquitto on loopback, gone when they are over."""

import hashlib
import os
import secrets
import shutil
import subprocess
import tempfile
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import paho.mqtt.publish as mqtt_publish
import pytest
from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tests.servers.ports import LOOPBACK, answers, free_port

PATIENCE = 60.0  # seconds for any one wait: the machine may be busy
PLACES = "/usr/sbin:/usr/local/sbin"  # Debian keeps it off the path
ABSENT = "no MQTT broker is installed: the package mosquitto of Debian is one"
HASHES = 101  # rounds of PBKDF2, as Mosquitto makes them
USER, PASSWORD = "penstock", "p@ss/word"


class MosquittoServer:
    """One broker, which lets in anybody, and those who give a name only with its password."""

    def __init__(self, program: str, place: Path) -> None:
        self._program, self._place = program, place
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    def start(self) -> None:
        """Start it, with what it has kept of sessions and messages."""
        settings = self._place / "mosquitto.conf"
        settings.write_text(
            f"listener {self.port} {LOOPBACK}\nallow_anonymous true\n"
            "max_queued_messages 0\nmax_inflight_messages 100\n"
            f"persistence true\npersistence_location {self._place}/\nlog_type all\n"
            f"password_file {self._place / 'users'}\n"
            + ("user root\n" if os.geteuid() == 0 else "")
        )
        (self._place / "users").write_text(f"{USER}:{_hashed(PASSWORD)}\n")
        with (self._place / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._program, "-c", settings], stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + PATIENCE
        while not answers(self.port):
            assert self._process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop it as a machine that is shut down does: it writes down what it has."""
        self._end(kill=False)

    def kill(self) -> None:
        """Let it die."""
        self._end(kill=True)

    def _end(self, *, kill: bool) -> None:
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            self._process.kill() if kill else self._process.terminate()
        self._process.wait(PATIENCE)
        self._process = None

    def publish(self, *messages: tuple[str, str | bytes], retain: bool = False) -> None:
        """Publish messages as topic and payload, each acknowledged when this returns."""
        told = [(topic, payload, 1, retain) for topic, payload in messages]
        mqtt_publish.multiple(
            told,  # type: ignore[arg-type]  # tuples are messages, too
            LOOPBACK,
            self.port,
            protocol=MQTTProtocolVersion.MQTTv5,
        )

    def forget(self, client_id: str) -> None:
        """Take a client's session away from it, which must not be connected now."""
        client = Client(CallbackAPIVersion.VERSION2, client_id, protocol=MQTTProtocolVersion.MQTTv5)
        client.connect(LOOPBACK, self.port, clean_start=True)
        client.loop_start()
        deadline = time.monotonic() + PATIENCE
        while not client.is_connected():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        client.disconnect()
        client.loop_stop()

    @contextmanager
    def listening(self, topic: str) -> Iterator[list[MQTTMessage]]:
        """Give what is published to a topic meanwhile, through deaths of the broker, too."""
        heard: list[MQTTMessage] = []
        ready = threading.Event()
        name = f"listener-{secrets.token_hex(4)}"
        client = Client(CallbackAPIVersion.VERSION2, name, protocol=MQTTProtocolVersion.MQTTv5)
        client.reconnect_delay_set(0.05, 0.05)  # type: ignore[arg-type]  # any number is one
        client.on_connect = lambda me, *_: me.subscribe(topic, 1)
        client.on_subscribe = lambda *_: ready.set()
        client.on_message = lambda _, __, message: heard.append(message)
        # Mosquitto does not write down sessions that began with a clean start.
        client.connect(LOOPBACK, self.port, clean_start=False, properties=_lasting())
        client.loop_start()
        assert ready.wait(PATIENCE)
        yield heard
        client.disconnect()
        client.loop_stop()

    def has_heard(self, topic: str) -> bool:
        """Say whether somebody has subscribed to a topic."""
        return f"\t{topic} (QoS" in self.log()

    def log(self) -> str:
        """Return what the broker has said."""
        return (self._place / "log").read_text(errors="replace")


def _lasting() -> Properties:
    """Return what a client says whose session is to be kept for a while."""
    wanted = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]  # theirs
    wanted.SessionExpiryInterval = 600
    return wanted


def _hashed(password: str) -> str:
    """Return a password as Mosquitto keeps it."""
    salt = secrets.token_bytes(12)
    made = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, HASHES)
    return f"$7${HASHES}${b64encode(salt).decode()}${b64encode(made).decode()}"


@contextmanager
def running_mosquitto() -> Iterator[MosquittoServer]:
    """Run a broker of its own; skip the test where none is installed, but not on CI."""
    program = shutil.which("mosquitto") or shutil.which("mosquitto", path=PLACES)
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(ABSENT)
    place = Path(tempfile.mkdtemp(prefix="penstock-mosquitto-"))
    server = MosquittoServer(program, place)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(place, ignore_errors=True)
