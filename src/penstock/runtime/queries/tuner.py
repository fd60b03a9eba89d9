"""The tuner: OPTIMIZE QUERY, and flows that choose their plan by themselves, again when they drift.

Measuring is done beside what runs; only the change of a plan comes while quiesced.
"""

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from penstock.clock import Clock
from penstock.engine.spark.application.session import Sessions
from penstock.engine.spark.jobs.spare_processor import spare_processor
from penstock.engine.states.sites import SitesState
from penstock.errors import BadQueryError, PenstockError
from penstock.functions.flows.flow import FlowInput
from penstock.functions.tuning.choice import FlowDemand, choose
from penstock.functions.tuning.drift import LAST, RATE_FACTOR, SIZE_FACTOR, drift
from penstock.functions.tuning.place import predict_placed, worth_trying
from penstock.functions.tuning.plans import PlanLimits
from penstock.functions.tuning.profile import FunctionProfile, profile_of
from penstock.functions.tuning.spread import function_in, written_for
from penstock.runtime.loop.quiescence import Quiescence
from penstock.runtime.names.directory import Directory
from penstock.runtime.queries.flow_trials import LEAST_WINDOWS, FlowTrials, trials_of
from penstock.runtime.queries.tuned import Tuned, read_tuned, tuned_of, write_tuned
from penstock.runtime.work.live_unit import LiveUnit

AUTO = "auto("
LOOK_SECONDS = 1.0
AGAIN_SECONDS = 60.0  # after which a flow that could not be measured is tried once more
MOST_DEGREE = 16
DEGREES_A_SLOT = 2  # more branches than slots only wait for each other


@dataclass(slots=True)
class Watched:
    """What was seen of a flow that chooses for itself: windows so far, their bytes, rates."""

    windows: int = 0
    bytes: int = 0
    at: float = 0.0
    sizes: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    not_before: float = 0.0

    def see(self, windows: int, size: int, now: float) -> None:
        """Take in how many windows there were by now."""
        came, more, seconds = windows - self.windows, size - self.bytes, now - self.at
        if came < 0:  # another plan counts from the start
            came, more = windows, size
        if came and self.at:
            self.sizes.append(more / came)
            self.rates.append(came / seconds)
            del self.sizes[:-LAST], self.rates[:-LAST]
        self.windows, self.bytes, self.at = windows, size, now


class Tuner:
    """Chooses plans, keeps what they were chosen from, and looks after flows with `auto`."""

    def __init__(
        self,
        directory: Directory,
        quiescence: Quiescence,
        sessions: Sessions,
        clock: Clock,
        path: Path,
    ) -> None:
        """Remember what was kept at the path."""
        self._clock = clock
        self._directory, self._quiescence = directory, quiescence
        self._topology, self._sessions, self._path = quiescence.topology, sessions, path
        self.tuned = read_tuned(self._path)
        self._watched: dict[str, Watched] = {}
        self._over = threading.Event()
        self._measuring, self._keeping = threading.Lock(), threading.Lock()
        self._thread = threading.Thread(target=self._look_after, name="penstock-tuner", daemon=True)

    def start(self) -> None:
        """Look after flows that choose for themselves."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what is measured, and end."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def optimize(self, name: str) -> str:
        """Choose the plan of a query's flow anew, and return the table."""
        self._directory.query(name)
        query = self._topology.queries.get(name.lower())
        if query is None:
            raise BadQueryError(f"query {name} does not run", hint=f"RESUME QUERY {name}")
        lives = list(_flows_in(self._topology.units_of(query).values()))
        if not lives:
            raise BadQueryError(
                f"query {name} is no flow", hint="OPTIMIZE chooses how FLOW f OVER stream is spread"
            )
        return "\n\n".join(self._optimized(live).text() for live in lives)

    def told(self, units: list[LiveUnit]) -> list[str]:
        """Return the tables that the plans of these units were chosen from, and their stages."""
        found = []
        for live in _flows_in(units):
            tuned, state = self.tuned.get(live.unit.key), live.state
            if tuned is not None and isinstance(state, SitesState):
                stages = (f"  {line}" for line in state.coming.lines())
                found.append("\n".join([tuned.text(), *stages]))
        return found

    def _optimized(self, live: LiveUnit) -> Tuned:
        state = live.state
        assert isinstance(state, SitesState)  # noqa: S101  (it was looked for)
        function = function_in(state.operator.stages.flow)
        if function is None:
            raise BadQueryError(
                f"flow {state.operator.written} is more than one function that is spread",
                hint="make a query of the function alone, and another one over it",
            )
        with (
            self._measuring,  # two at once would measure each other
            spare_processor(self._sessions, self._topology.buffers.spill) as processor,
        ):
            trials = trials_of(processor, state.operator, function, state.recent.table)
            tuned = _chosen(trials, self._watched.get(live.unit.key, Watched()))
        with self._quiescence.between_runs():
            current = self._topology.units.get(live.unit.key)
            if current is not None and isinstance(current.state, SitesState):
                current.state.spread_as(tuned.chosen)
        with self._keeping:
            self.tuned[live.unit.key] = tuned
            write_tuned(self._path, self.tuned)
        return tuned

    def _look_after(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            now = self._clock.now()
            for live in list(self._topology.units.values()):
                if isinstance(live.state, SitesState):
                    self._look_at(live, live.state, now)

    def _look_at(self, live: LiveUnit, state: SitesState, now: float) -> None:
        watched = self._watched.setdefault(live.unit.key, Watched())
        watched.see(*_windows_in(state), now)
        is_auto, tuned = state.operator.written.startswith(AUTO), self.tuned.get(live.unit.key)
        if not is_auto or now < watched.not_before or not is_due(tuned, watched):
            return
        try:
            self._optimized(live)
        except PenstockError:  # such as too few windows: more may come
            watched.not_before = now + AGAIN_SECONDS
        except Exception:  # whatever it is, the flow runs on as it is
            watched.not_before = float("inf")


def is_due(tuned: Tuned | None, watched: Watched) -> bool:
    """Say whether a flow has to be measured: for the first time, or since its stream drifts."""
    if tuned is None:
        return watched.windows >= LEAST_WINDOWS and bool(watched.rates)
    profile = profile_of(tuned.profile)
    rate = profile.windows_a_second if profile is not None else 0.0
    sizes = drift(tuned.window_bytes, watched.sizes, SIZE_FACTOR)
    return sizes is not None or drift(rate, watched.rates, RATE_FACTOR) is not None


def _chosen(trials: FlowTrials, watched: Watched) -> Tuned:
    """Measure, predict, try the best few, and return what came of it."""
    rate = median(watched.rates) if watched.rates else 0.0
    size, slots, split = trials.sample.size, trials.slots, trials.function.function.split
    most = min(MOST_DEGREE, max(2, DEGREES_A_SLOT * slots))
    places = trials.places(tuple(range(2, most + 1)))
    possible = {fan for costs in places.values() for fan in costs.splits}
    limits = PlanLimits(most, divides=None if split is None else lambda _size, fan: fan in possible)
    choice = choose(
        lambda plan: predict_placed(plan, places, size, slots),
        FlowDemand(size, rate, slots),
        limits,
        try_out=lambda plans: trials.seconds_a_window(
            {plan: worth_trying(plan, places, size, slots) for plan in plans}
        ),
    )
    first = next(iter(places.values()))
    function = trials.function
    profile = FunctionProfile(function.function.name, function.function.version, size, rate, first)
    # What drift is told by has to be seen in the same way; a sample has one size only.
    mean = median(watched.sizes) if watched.sizes else trials.sample.table.nbytes / trials.windows
    seen = (trials.windows, mean)
    return tuned_of(choice, written_for(function, choice.chosen), profile, seen)


def _flows_in(units: Iterable[LiveUnit]) -> Iterator[LiveUnit]:
    yield from (each for each in units if isinstance(each.state, SitesState))


def _windows_in(state: SitesState) -> tuple[int, int]:
    """Return how many windows have come into the flow since it runs like this, and their bytes."""
    numbers = [
        number
        for number, node in enumerate(state.stages.flow.nodes)
        if any(isinstance(source, FlowInput) for source in node.inputs)
    ]
    known = state.ledger.nodes
    figures = next((known[number] for number in numbers if number in known), None)
    return (0, 0) if figures is None else (figures.items_in, figures.bytes_in)
