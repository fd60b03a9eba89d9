"""The feed: one thread samples for all who listen, and wakes them.

What it costs is bounded however many listen and however much there is: a sample is taken once a
second, less often where that would take more than a twentieth of one core, and every ten seconds
where nobody listens, so that curves are there already for who comes.
"""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from penstock.errors import PenstockError, TooManyError
from penstock.server.page.live.frames import Frame, Frames
from penstock.server.page.live.sample import sample
from penstock.server.service import Service

LOG = logging.getLogger("penstock.server")
LOOKED_AT_SECONDS, UNSEEN_SECONDS = 1.0, 10.0
MOST_SHARE = 0.05  # of one core
SILENT_SECONDS = 5.0  # after which a listener is told that the feed is still there
MOST_LISTENERS = 1_000
STILL_THERE = b": still there\n\n"


@dataclass(eq=False, slots=True)
class Listener:
    """One page; `seen` is the number of the last frame that it got."""

    loop: asyncio.AbstractEventLoop
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    seen: int = -1


class Feed:
    """Samples a service's home from when it is open until the service stops."""

    def __init__(self, service: Service) -> None:
        """Begin to sample as soon as somebody comes, or the home is open."""
        self._service = service
        self._frames = Frames()
        self._frame: Frame | None = None
        self._lock = threading.Lock()
        self._listeners: set[Listener] = set()
        self._somebody = threading.Event()
        self._ended = threading.Event()
        self._has_failed = False  # told once: it would fail each second
        self.sampling_seconds = 0.0
        self.samples = 0

    def start(self) -> None:
        """Begin to sample."""
        threading.Thread(target=self._run, name="penstock-feed", daemon=True).start()

    def stop(self) -> None:
        """Sample no more, and send listeners away."""
        self._ended.set()
        self._somebody.set()
        self._wake()

    async def listen(self) -> AsyncIterator[bytes]:
        """Yield events until the service stops; all that is known first, then what changes."""
        listener = Listener(asyncio.get_running_loop())
        with self._lock:
            self._listeners.add(listener)
        self._somebody.set()
        try:
            while not self._ended.is_set():
                listener.woken.clear()
                frame = self._frame
                if frame is not None and frame.number != listener.seen:
                    follows = frame.number == listener.seen + 1
                    listener.seen = frame.number
                    yield frame.change if follows else frame.whole
                    continue
                try:
                    await asyncio.wait_for(listener.woken.wait(), SILENT_SECONDS)
                except TimeoutError:
                    yield STILL_THERE
        finally:
            with self._lock:
                self._listeners.discard(listener)

    def require_room(self) -> None:
        """Raise TooManyError where as many listen as may."""
        if len(self._listeners) >= MOST_LISTENERS:
            raise TooManyError(
                f"{MOST_LISTENERS:,} pages are open already", hint="close some of them"
            )

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                took = self._sample()
            except Exception:  # a defect: figures are old then, and everything else goes on
                LOG.exception("the feed could not take a sample")
                took = UNSEEN_SECONDS * MOST_SHARE
            self._somebody.clear()
            if self._listeners:
                self._ended.wait(pause_after(took))
            else:  # whoever comes gets a fresh one
                self._somebody.wait(UNSEEN_SECONDS)

    def _sample(self) -> float:
        """Take a sample and tell it; return the seconds of this thread's work."""
        began = time.thread_time()
        try:
            seen = sample(self._service.connection.system.inspected)
        except PenstockError:
            return 0.0  # the home is being opened, or closed
        except (RuntimeError, KeyError) as error:
            # Something came or went while it was read: the next sample sees it whole.
            LOG.debug("a sample was given up: %r", error)
            return 0.0
        try:
            self._frame = self._frames.of(seen)
        except Exception:  # a defect of ours: pages show old figures, and say so
            if not self._has_failed:
                LOG.exception("no frame could be made of a sample")
            self._has_failed = True
            return 0.0
        self._wake()
        took = time.thread_time() - began
        self.sampling_seconds, self.samples = self.sampling_seconds + took, self.samples + 1
        return took

    def _wake(self) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for each in listeners:
            if not each.loop.is_closed():
                each.loop.call_soon_threadsafe(each.woken.set)


def pause_after(took: float) -> float:
    """Return the seconds to wait after a sample that took so many, while somebody looks."""
    return max(LOOKED_AT_SECONDS, took / MOST_SHARE) - took
