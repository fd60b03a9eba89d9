"""Following a run until it is over."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from penstock.cli.live_line import live_line
from penstock.cli.news import News
from penstock.cli.screen import Screen
from penstock.cli.stop_signals import StopSignals
from penstock.client import Connection
from penstock.runtime.quality.live_figures import observe

LOOK_SECONDS = 0.1  # how soon a signal or a failure is noticed
DRAW_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Until:
    """When a run is over before its queries are: when all is delivered, or after some seconds."""

    idle: bool = False
    seconds: float | None = None


def follow(
    connection: Connection,
    news: News,
    screen: Screen,
    signals: StopSignals,
    until: Until,
    is_over: Callable[[float], bool] = lambda _: False,
) -> None:
    """Return when the run is over; tell what fails as it fails, and draw the live line.

    A run is also over when a signal came, when no query runs any more and rules have done what
    these gave them to do, or when `is_over` says so of the seconds that it has taken; it is asked
    several times a second.
    """
    began = drawn = time.monotonic()
    ran = news.runs()
    while signals.received is None:
        is_idle = connection.wait(LOOK_SECONDS)
        for trouble in news.fresh():
            screen.say(trouble)
        now = time.monotonic()
        ended = not news.runs() and not (ran and connection.system.supervisor.acts)
        if ended or is_over(now - began) or (until.idle and is_idle):
            return
        if until.seconds is not None and now - began >= until.seconds:
            return
        if screen.is_live and now - drawn >= DRAW_SECONDS:
            drawn = now
            screen.live(
                live_line(
                    observe(connection.system.topology, connection.system.clock.now()), now - began
                )
            )
        if is_idle:
            time.sleep(LOOK_SECONDS)  # `wait` has returned at once
