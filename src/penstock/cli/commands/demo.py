"""`penstock demo`: a house and a street, for half a minute."""

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from penstock.cli.commands.command import Command
from penstock.cli.commands.settings_flags import add_home_settings, configured
from penstock.cli.demo.sampler import RowSampler
from penstock.cli.demo.story import CalmDelay, ClosingFigures, StoryMoment, is_calm, summary
from penstock.cli.durations import seconds
from penstock.cli.guard import FAILED
from penstock.cli.home_session import opened
from penstock.cli.news import news_of
from penstock.cli.run_progress import Until, follow
from penstock.cli.screen import Screen
from penstock.cli.stop_signals import StopSignals
from penstock.client import Connection
from penstock.engine.states.tuples.gate import GateState
from penstock.errors import BadOptionError
from penstock.qos.monitor.durations import START
from penstock.runtime.names.directory import Directory
from penstock.runtime.quality.live_figures import observe
from penstock.runtime.topology.topology import Topology
from penstock.runtime.views.relations.rules import RULES
from penstock.runtime.views.schema import show
from penstock.scene.demo_scene import DemoScene

ABOUT = """Play a scene: sensors in a house, cars on a street, queries over them, one rush of cars
and a rule that acts on it; then tell what happened. Needs no network and no data."""
PAGE_HINT = "See it in the page: penstock demo --serve"
LEAST_SECONDS = 10.0  # below it, windows hardly close and the rush is over before it is seen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--seconds",
        type=demo_seconds,
        default=30.0,
        metavar="N",
        help="how long it plays (default: 30)",
    )
    parser.add_argument(
        "--home", metavar="DIR", help="keep definitions and results here (default: nowhere)"
    )
    parser.add_argument(
        "--serve",
        action="store_true",
        help="show it in the page while it plays, and go on until Ctrl-C",
    )
    parser.add_argument(
        "--port", type=int, default=8080, metavar="N", help="of the page (default: 8080)"
    )
    add_home_settings(parser, home=False)


def run(args: argparse.Namespace) -> int:
    """Play the scene and tell its story."""
    scene, screen, signals = DemoScene(args.seconds), Screen.standard(), StopSignals()
    tell(screen, opening_words(scene))
    with (
        home_of(args.home) as home,
        opened(replace(configured(args), home=home), screen, signals.listen) as connection,
        page_of(connection, args) as address,
    ):
        if address:
            tell(screen, f"The page: {address}\n")
        play = Play(connection, scene, screen)
        play.begin()
        news = news_of(connection)
        most = Until(seconds=scene.seconds * 2)
        follow(connection, news, screen, signals, most, play.is_over)
        screen.clear()
        story = summary(closing_figures(play), play.moments, scene, args.home)
        if address:
            tell(screen, f"\n{story}\n{going_on(address)}")
            play.is_told = True
            follow(connection, news, screen, signals, Until())
    if not args.serve:
        tell(screen, f"\n{story}\n{PAGE_HINT}")
        return signals.exit_code or (FAILED if news.failed() else 0)
    return FAILED if news.failed() else 0


@contextlib.contextmanager
def page_of(connection: Connection, args: argparse.Namespace) -> Iterator[str]:
    """Give the address of the page where it is wanted, else nothing."""
    if not args.serve:
        yield ""
        return
    try:
        from penstock.cli.demo.served import served  # noqa: PLC0415  (the server is an extra)
    except ModuleNotFoundError as error:
        raise BadOptionError(
            f"--serve needs {error.name}, which is not installed",
            hint="pip install 'penstock[server]' installs what the server needs",
        ) from None
    with served(connection, args.port) as address:
        yield address


def closing_figures(play: "Play") -> ClosingFigures:
    """Return what the views say now."""
    inspected = play.connection.system.inspected
    queries, rules, contracts = (show(inspected, what) for what in ("QUERIES", "RULES", "QOS"))
    return ClosingFigures(queries, rules, contracts, play.delays)


class Play:
    """The scene as it goes on, and its figures at each moment."""

    def __init__(self, connection: Connection, scene: DemoScene, screen: Screen) -> None:
        self.connection, self._scene, self._screen = connection, scene, screen
        self._began: float | None = None  # when the streams did, which is after the warm-up
        self.is_told = False  # then rows are not shown any more
        self.moments: list[StoryMoment] = []
        self.delays: list[CalmDelay] = []

    def begin(self) -> None:
        """Make the streams and the queries, and show some of what they find."""
        refuse_used(self.connection.system.directory, self.connection.system.home.path)
        self._screen.live("setting up streams and queries …")
        colored = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        sampler = RowSampler(self._show, colored=colored)
        self.connection.tap(sampler.deliver)
        self.connection.script("".join(self._scene.scripts()))

    def _show(self, line: str) -> None:
        if not self.is_told:
            tell(self._screen, line)

    def is_over(self, _: float) -> bool:
        """Remember the figures of now; say whether time is up, the rush over and the rules done."""
        self._look()
        played = self.moments[-1].at if self.moments else 0.0
        if played < self._scene.seconds or not is_calm(self.moments, self._scene):
            return False
        rules = RULES.rows(self.connection.system.inspected)
        return all(row["done"] and not row["waiting"] for row in rules)

    def _look(self) -> None:
        system = self.connection.system
        rows = sum(source_reader.rows for source_reader in system.topology.source_readers.values())
        if not rows:
            return
        now = time.monotonic()
        self._began = now if self._began is None else self._began
        figures, at = observe(system.topology, system.clock.now()), now - self._began
        states = [live.state for live in list(system.topology.units.values())]
        keep = min((each.keep for each in states if isinstance(each, GateState)), default=1.0)
        self.moments.append(StoryMoment(at, rows, figures.queued, figures.lag or 0.0, keep))
        if at < self._scene.rush[0]:
            self.delays = calm_delays(system.topology, system.clock.now())


def calm_delays(topology: Topology, now: float) -> list[CalmDelay]:
    """Return the delays and latencies of all rows so far, query by query."""
    return [
        CalmDelay(
            query.name,
            query.meter.timed_rows,
            query.meter.delays.quantile(0.5, now, START),
            query.meter.latencies.quantile(0.5, now, START),
        )
        for query in list(topology.queries.values())
    ]


@contextlib.contextmanager
def home_of(given: str | None) -> Iterator[str]:
    """Give the home that is wanted, or one that is gone afterwards."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="penstock-demo-", ignore_cleanup_errors=True) as home:
        yield home


def refuse_used(directory: Directory, home: Path) -> None:
    """Refuse a home that has definitions of its own."""
    if directory.known:
        raise BadOptionError(
            f"the home {home} is not empty", hint="the demo wants a home of its own"
        )


def demo_seconds(text: str) -> float:
    """Return a length of time that is long enough for the scene."""
    wanted = seconds(text)
    if wanted < LEAST_SECONDS:
        raise argparse.ArgumentTypeError(f"the scene takes at least {LEAST_SECONDS:g} seconds")
    return wanted


def tell(screen: Screen, text: str) -> None:
    """Put a line of the story out."""
    screen.rows(f"{text}\n".encode())


def going_on(address: str) -> str:
    """Return the last words where it is served."""
    return f"It goes on at {address} until Ctrl-C."


def opening_words(scene: DemoScene) -> str:
    """Return what is going to happen."""
    rush = f"{scene.rush_rate:,} in a rush after {scene.rush[0]:g} s"
    return f"""Penstock demo: a house and a street, for {scene.seconds:g} seconds.
Spark starts first, which takes some seconds.

  streams   house      {scene.house_rate} readings a second from six rooms
            cars       {scene.cars_rate} cars a second, and {rush}
  queries   hot_rooms  a filter behind a join with a table
            power      an aggregate over windows of 5 s
            speeding   a filter
            flow       an aggregate over windows of 6 s, every 2 s
            jams       a query over the query flow
            alarms     UNION ALL of three queries
            fuel       a dear aggregate that may be a fifth off in the rush
  a rule    call_police: where a jam lasts, a row goes into the stream that the query called reads

Some of the rows that they find; (+9) is how many more came since the query's last line:
"""


COMMAND = Command(ABOUT, add_arguments, run)
