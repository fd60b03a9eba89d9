"""Following a run until it is over."""

import time
from dataclasses import dataclass

from penstock.cli.figures import observe
from penstock.cli.live_line import live_line
from penstock.cli.news import News
from penstock.cli.screen import Screen
from penstock.cli.stop_signals import StopSignals
from penstock.client import Connection

LOOK_SECONDS = 0.1  # how soon a signal or a failure is noticed
DRAW_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Until:
    """When a run is over, besides by a signal: when all is delivered, or after some seconds."""

    idle: bool = False
    seconds: float | None = None


def follow(
    connection: Connection, news: News, screen: Screen, signals: StopSignals, until: Until
) -> None:
    """Return when the run is over; tell what fails as it fails, and draw the live line."""
    began = drawn = time.monotonic()
    rested = False
    while signals.received is None:
        is_idle = connection.wait(LOOK_SECONDS)
        for trouble in news.fresh():
            screen.say(trouble)
        now = time.monotonic()
        if until.seconds is not None and now - began >= until.seconds:
            return
        if is_idle or not news.runs():
            if until.idle:
                return
            if not rested and until.seconds is None:
                screen.say(RESTS)
                rested = True
            time.sleep(LOOK_SECONDS)
        if screen.is_live and now - drawn >= DRAW_SECONDS:
            drawn = now
            screen.live(live_line(observe(connection.system), now - began))


RESTS = "all sources have ended and everything is delivered; Ctrl-C leaves"
