"""E5.8 by tokens (TIME-51): standing queries over the slices of a sensor grid, too many of them.

Each second brings a slice. A query works through two to four transformations, the first of which
all share; what it missed is worked through in one go, since transformations are idempotent. A slice
offers each query a token of its weight. Missed tokens decay: after m of them the next update is
worth T·(1 + λ + … + λ^m). Nothing has a deadline.

    Basic       the ready transformation with the most tokens behind it, a second of its own cost
    OptProfit   the first of the fragment that earns most a second (`costs/fragments.py`)
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from penstock.experiments.trial import Effort
from penstock.schedule.costs.fragments import Job, horn_fragments
from penstock.sim.report import Claim, Report

DECAY = 0.9  # λ, the thesis' value
KINDS = {"alert": (10, 10), "user": (2, 5), "archive": (1, 1)}  # the thesis' weights
EACH = 6  # queries of each kind
LOADS = (0.8, 2.0, 4.0)  # 1: all transformations of a slice take as long as the next one to come
EQUAL = 0.02
CLEAN = "clean"


@dataclass(frozen=True, slots=True)
class Step:
    """One transformation: what it reads (None: the slices), and whose answer it gives."""

    seconds: float
    above: str | None
    query: str | None = None
    weight: float = 0.0


Steps = Mapping[str, Step]


def worth(slices: int) -> float:
    """Return what an update after so many slices is worth, for a token of one."""
    return (1 - DECAY**slices) / (1 - DECAY)


@dataclass(slots=True)
class Grid:
    """How far each transformation has come, and what queries have earned."""

    steps: Steps
    arrived: int = 0
    seen: dict[str, int] = field(default_factory=dict)
    updates: dict[str, int] = field(default_factory=dict)
    tokens: float = 0.0

    def behind(self, name: str) -> int:
        """Return how many slices a transformation has missed."""
        return self.arrived - self.seen.get(name, 0)

    def is_ready(self, name: str) -> bool:
        """Say whether a transformation has something new to read."""
        above = self.steps[name].above
        known = self.arrived if above is None else self.seen.get(above, 0)
        return known > self.seen.get(name, 0)

    def jobs(self) -> dict[str, Job]:
        """Return what there is to do, each with what it earns."""
        left = {name: step for name, step in self.steps.items() if self.behind(name)}
        return {
            name: Job(
                step.seconds,
                step.weight * worth(self.behind(name)) if step.query else 0.0,
                step.above if step.above in left and not self.is_ready(name) else None,
            )
            for name, step in left.items()
        }

    def done(self, name: str, known: int) -> None:
        """Take note that a transformation has come up to a slice."""
        step, missed = self.steps[name], known - self.seen.get(name, 0)
        self.seen[name] = known
        if step.query is not None:
            self.updates[step.query] = self.updates.get(step.query, 0) + 1
            self.tokens += step.weight * worth(missed)


Policy = Callable[[Grid], str | None]


def basic(grid: Grid) -> str | None:
    """Return the ready transformation with the most tokens behind it a second of its own cost."""
    jobs, below = grid.jobs(), dict.fromkeys(grid.steps, 0.0)
    for name in reversed(list(grid.steps)):  # inputs come first in `steps`
        below[name] += jobs[name].profit if name in jobs else 0.0
        above = grid.steps[name].above
        if above is not None:
            below[above] += below[name]
    ready = [name for name in jobs if grid.is_ready(name)]
    return max(ready, key=lambda name: below[name] / jobs[name].seconds, default=None)


def optprofit(grid: Grid) -> str | None:
    """Return the first transformation of the fragment that earns most a second."""
    fragments = horn_fragments(grid.jobs())
    return fragments[0].jobs[0] if fragments else None


@dataclass(slots=True)
class RoundRobin:
    """Queries in turns, each through all of its transformations."""

    paths: Sequence[Sequence[str]]
    turn: int = 0

    def __call__(self, grid: Grid) -> str | None:
        """Return the next transformation of the query whose turn it is."""
        for _ in self.paths:
            found = next((each for each in self.paths[self.turn] if grid.is_ready(each)), None)
            if found is not None:
                if found == self.paths[self.turn][-1]:
                    self._on()
                return found
            self._on()
        return None

    def _on(self) -> None:
        self.turn = (self.turn + 1) % len(self.paths)


def path_of(steps: Steps, name: str) -> list[str]:
    """Return the transformations from the slices to one."""
    above = steps[name].above
    return [*([] if above is None else path_of(steps, above)), name]


POLICIES: dict[str, Callable[[Steps], Policy]] = {
    "round_robin": lambda steps: RoundRobin(
        [path_of(steps, name) for name, step in steps.items() if step.query]
    ),
    "basic": lambda _: basic,
    "optprofit": lambda _: optprofit,
}


def played(steps: Steps, policy: Policy, seconds: float) -> Grid:
    """Return how a grid stands after so many seconds, with one transformation at a time."""
    grid, now = Grid(steps), 0.0
    while now < seconds:
        grid.arrived = int(now) + 1
        name = policy(grid)
        if name is None:
            now = float(int(now) + 1)
            continue
        above = steps[name].above
        known = grid.arrived if above is None else grid.seen[above]
        now += steps[name].seconds
        if now <= seconds:
            grid.done(name, known)
    return grid


def drawn_steps(seed: int, load: float) -> dict[str, Step]:
    """Return random queries, all behind one transformation that cleans."""
    drawn = random.Random(seed)
    steps = {CLEAN: Step(drawn.uniform(1, 5), None)}
    for number in range(EACH * len(KINDS)):
        kind, weights = list(KINDS.items())[number % len(KINDS)]
        query, above, last = f"{kind}{number}", CLEAN, drawn.randint(1, 3)
        for place in range(last):
            name, answers = f"{query}.{place}", query if place == last - 1 else None
            weight = float(drawn.randint(*weights)) if answers else 0.0
            steps[name] = Step(drawn.uniform(1, 5), above, answers, weight)
            above = name
    whole = sum(step.seconds for step in steps.values())
    return {
        name: Step(step.seconds * load / whole, step.above, step.query, step.weight)
        for name, step in steps.items()
    }


def tokens(seed: int, effort: Effort) -> Report:
    """Compare who is brought up to date how often, and what that is worth."""
    found = {(load, name): _point(load, name, seed, effort) for load in LOADS for name in POLICIES}
    past = [load for load in LOADS if load > 1]
    share = {at: rates[0] / sum(rates[: len(KINDS)]) for at, rates in found.items()}

    def best(column: int) -> bool:
        return all(
            found[load, "optprofit"][column] >= max(found[load, name][column] for name in POLICIES)
            for load in past
        )

    return Report(
        "E5.8: updates of sensor grid queries, by tokens",
        "Updates a second of a query by kind, times weight, and tokens earned a second; λ = 0.9",
        ("load", "strategy", *KINDS, "weighted sum", "tokens"),
        tuple((load, name, *rates) for (load, name), rates in found.items()),
        (
            Claim(
                "round robin brings all up to date equally often",
                all(abs(share[load, "round_robin"] - 1 / len(KINDS)) < EQUAL for load in past),
            ),
            Claim(
                "Basic favours alerts",
                all(share[load, "basic"] > share[load, "round_robin"] for load in past),
            ),
            Claim(
                "OptProfit gives alerts a larger share of updates than Basic",
                all(share[load, "optprofit"] > share[load, "basic"] for load in past),
            ),
            Claim("the weighted sum is highest for OptProfit", best(-2)),
            Claim("OptProfit earns the most tokens", best(-1)),
        ),
    )


def _point(load: float, name: str, seed: int, effort: Effort) -> tuple[float, ...]:
    """Return the updates a second by kind, times weight, and the tokens a second."""
    rows = []
    for each in range(seed, seed + effort.trials):
        steps = drawn_steps(each, load)
        grid = played(steps, POLICIES[name](steps), effort.seconds)
        weights = {step.query: step.weight for step in steps.values() if step.query}
        weighted = sum(weights[query] * count for query, count in grid.updates.items())
        kinds = (
            sum(count for query, count in grid.updates.items() if query.startswith(kind)) / EACH
            for kind in KINDS
        )
        rows.append((*kinds, weighted, grid.tokens))
    return tuple(fmean(column) / effort.seconds for column in zip(*rows, strict=True))
