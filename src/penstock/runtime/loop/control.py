"""Control: which strategy and which batching rule decide, and what they are told.

They change while quiesced, while everything else goes on: what waits stays where it is.
"""

import logging
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from penstock.errors import BadOptionError, UnknownOptionError
from penstock.qos.contracts.strategy_need import Need, need
from penstock.runtime.loop.dispatch.dispatcher import Dispatcher
from penstock.runtime.quality.run_lengths import latencies, run_lengths
from penstock.runtime.topology.topology import Topology
from penstock.schedule import STRATEGIES, Choice
from penstock.schedule.batching import BATCHINGS, Intelligent
from penstock.schedule.choice import make
from penstock.schedule.strategies.guarded import Guarded

LAST_DITCH = "u"  # of strategies that stop a run for one with a deadline (TIME-30)
OBSERVE_SECONDS = 1.0  # a burst of some seconds shows
OBSERVED_SHARE = 0.003  # of the time, where figures of very many units take long to put together
SURE = 0.5  # the confidence from which on a cost is as much measured as assumed
KEPT_DEFECTS = 20  # are logged and shown; a strategy that is wrong may be so a thousand times

ROUND_ROBIN, EVERYTHING = Choice("round_robin"), Choice("everything")
BY_NEED = "need"  # ANA-09: one that frees memory where that is short, else one that is quick
LOG = logging.getLogger("penstock")


class Control:
    """Owns what decides. Only the supervisor's thread, or one while quiesced, changes it."""

    def __init__(self, dispatcher: Dispatcher, strategy: Choice, batching: Choice) -> None:
        """Begin with these."""
        self.dispatcher, self.topology = dispatcher, dispatcher.topology
        self.defects: deque[str] = deque(maxlen=KEPT_DEFECTS)
        self.told = 0
        self.chosen, self.batching = strategy, batching
        self.was_set = False
        self.need: Need | None = None
        self.serving = strategy
        self.strategy = self._begun(strategy)
        self._rule = make(BATCHINGS, "batching", batching)
        self._next_look = 0.0
        self._apply()

    def use_strategy(self, choice: Choice) -> None:
        """Switch to another strategy; raise what is wrong with it before anything changes.

        The caller rebuilds the graph.
        """
        self.strategy = self._begun(choice)
        self.chosen, self.was_set = choice, True
        self._apply()
        self.look(-1.0)

    @property
    def wants_other(self) -> bool:
        """Say whether another strategy than the one that decides serves what is needed."""
        return self.need is not None and self.need.strategy != self.serving

    def serve(self) -> None:
        """Switch to the strategy that is needed now; the caller must rebuild the graph."""
        if self.need is not None:
            self.serving = self.need.strategy
            self.strategy = self._made(self.serving)
            self._apply()
            self.look(-1.0)

    def text(self) -> str:
        """Return which strategy decides, and under which name it was chosen."""
        chosen, serving = self.chosen.text(), self.serving.text()
        return chosen if self.need is None else f"{chosen}: {serving}"

    def use_batching(self, choice: Choice) -> None:
        """Switch to another batching rule."""
        rule = make(BATCHINGS, "batching", choice)
        self._rule, self.batching, self.was_set = rule, choice, True
        self._apply()
        self.topology.dirty |= self.topology.units.keys()

    def look(self, now: float) -> None:
        """Tell the deciders what is known, from time to time, or at once where `now` is before."""
        if 0 <= now < self._next_look:
            return
        began, at = time.perf_counter(), self.dispatcher.clock.now()
        statistics = self.dispatcher.statistics
        if self.strategy.needs_figures:
            self.strategy.observe(statistics.observation(self.topology, at))
        if isinstance(self._rule, Intelligent):
            self.dispatcher.run_queue.pace = statistics.pace(self.topology, at)
        if self.need is not None:
            self.need = need(self.need, memory_share(self.topology), 1.0, at)
        statistics.lengths = run_lengths(self.topology, statistics)
        self.dispatcher.run_queue.lengths = statistics.lengths
        self.dispatcher.run_queue.prompt = latencies(self.topology).keys()
        took = time.perf_counter() - began
        self.dispatcher.deciding_seconds += took
        self._next_look = at + max(OBSERVE_SECONDS, took / OBSERVED_SHARE)

    @property
    def is_sure(self) -> bool:
        """Say whether figures of all units are known well enough to cut by them for good."""
        return not self.strategy.needs_operators or all(
            self.dispatcher.statistics.confidence(live.unit) >= SURE
            for live in self.topology.units.values()
        )

    def kept(self) -> dict[str, Any]:
        """Return what a checkpoint keeps; nothing where nothing was SET."""
        if not self.was_set:
            return {}
        return {
            "strategy": [self.chosen.name, dict(self.chosen.parameters)],
            "batching": [self.batching.name, dict(self.batching.parameters)],
        }

    def bring_back(self, kept: Mapping[str, Any]) -> None:
        """Use what was SET before a restart."""
        if kept:
            (strategy, given), (rule, options) = kept["strategy"], kept["batching"]
            given = {name: each for name, each in given.items() if name != LAST_DITCH}
            self.use_batching(Choice(rule, tuple(options.items())))
            self.use_strategy(Choice(strategy, tuple(given.items())))

    def _begun(self, choice: Choice) -> Guarded:
        """Return the strategy that was SET, or the one that is needed first."""
        if choice.name != BY_NEED:
            made = self._made(choice)
            self.need, self.serving = None, choice
            return made
        if choice.parameters:
            raise UnknownOptionError(
                f"strategy {BY_NEED} takes no {choice.parameters[0][0]}",
                hint="it takes no parameters",
            )
        self.need = Need()
        self.serving = self.need.strategy
        return self._made(self.serving)

    def _made(self, choice: Choice) -> Guarded:
        _refuse_stops(choice)
        try:
            return Guarded(make(STRATEGIES, "strategy", choice), self._tell)
        except UnknownOptionError as error:
            error.hint = error.hint.replace("there are: ", f"there are: {BY_NEED}, ")
            raise

    def _apply(self) -> None:
        self.dispatcher.strategy, self.dispatcher.run_queue.batching = self.strategy, self._rule

    def _tell(self, defect: str) -> None:
        self.told += 1
        if self.told <= KEPT_DEFECTS:
            LOG.warning(defect)
        self.defects.append(defect)


def _refuse_stops(choice: Choice) -> None:
    """Raise for a parameter that says when a run is stopped: none is."""
    if any(name == LAST_DITCH for name, _ in choice.parameters):
        raise BadOptionError(
            f"{LAST_DITCH} of strategy {choice.name} says when a run is stopped for another, "
            "and runs on Spark are not",
            hint="leave it out; penstock simulate has it, where a run can be stopped",
        )


def memory_share(topology: Topology) -> float:
    """Return how much of the memory of buffers is in use, of all together or of the fullest."""
    bounds = topology.buffers.bounds
    fullest = max((each.memory_bytes for each in topology.buffers), default=0)
    return max(topology.buffers.memory_bytes() / bounds.total_bytes, fullest / bounds.buffer_bytes)
