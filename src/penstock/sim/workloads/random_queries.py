"""Random queries as the thesis describes them (TIME's EVALUATION, chapter 4)."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock.errors import BadOptionError
from penstock.plan.operators import Operator, Scan, key
from penstock.plan.operators.graph import Graph
from penstock.schedule.costs.observation import Observation, OperatorFigures, QueryFigures
from penstock.sim.workloads.arrivals import TICK_SECONDS, Times, trains
from penstock.sim.workloads.step import SimulatedOperator, stream
from penstock.sim.workloads.workload import Workload

# Relative cost and selectivity of a type, each drawn between its bounds. The thesis has neither;
# what counts is that they differ by about ten, as measured costs do.
KINDS = {
    "select": ((0.5, 2.0), (0.2, 0.9)),
    "project": ((0.3, 1.0), (1.0, 1.0)),
    "join": ((2.0, 8.0), (0.5, 1.5)),
    "aggregate": ((1.0, 4.0), (0.1, 0.5)),
}
TUPLE_BYTES = 100.0

Traffic = Callable[[int], Times]  # of the stream of that number


@dataclass(frozen=True, slots=True)
class QuerySet:
    """How random queries are drawn: the thesis' ranges."""

    queries: tuple[int, int] = (20, 28)
    operators: tuple[int, int] = (32, 48)
    weights: tuple[int, int] = (1, 10)
    validity: tuple[float, float] = (4.0, 8.0)
    streams: int = 4

    def __post_init__(self) -> None:
        """Refuse sets in which a query has no operator."""
        if self.queries[1] > self.operators[0]:
            raise BadOptionError(
                f"{self.queries} queries need an operator each, of {self.operators}"
            )

    def draw(self, seed: int, traffic: Traffic, *, tick: float = TICK_SECONDS) -> Workload:
        """Return queries of that seed over some traffic; costs are to be set by `at_load`."""
        drawn = random.Random(seed)
        total = drawn.randint(*self.operators)
        streams = [stream(f"s{n}") for n in range(self.streams)]
        roots = _roots(streams, drawn.randint(*self.queries), total, drawn)
        graph = Graph({f"q{n}": root for n, root in enumerate(roots)})
        figures = {
            name: OperatorFigures.declared(0.0, 1.0, TUPLE_BYTES)
            if isinstance(node, Scan)
            else _figures(node, drawn)
            for name, node in graph.nodes().items()
        }
        goals = {name: QueryFigures(drawn.randint(*self.weights)) for name in graph.queries}
        numbers = {key(each): n for n, each in enumerate(streams)}
        read = [key(each) for each in graph.scans()]
        return Workload(
            graph,
            Observation(figures, {}, goals),
            {name: trains(traffic(numbers[name]), tick) for name in read},
            {name: drawn.uniform(*self.validity) for name in read},
        )


def _roots(
    streams: Sequence[Operator], queries: int, total: int, drawn: random.Random
) -> list[Operator]:
    """Return the last operators of so many queries, of a total, built from the streams up."""
    below, shared = list(streams), total - queries
    fan_out = total / (shared + len(streams))
    room = {key(each): _fan_out(fan_out, drawn) for each in below}
    unread: list[Operator] = []
    for number in range(shared):
        node = _step(number, below, room, drawn)
        unread = [each for each in unread if each not in node.inputs] + [node]
        below.append(node)
        room[key(node)] = _fan_out(fan_out, drawn)
    roots: list[Operator] = []
    for number in range(shared, total):
        node = _step(number, unread or below, room, drawn)  # nothing is computed for nobody
        unread = [each for each in unread if each not in node.inputs]
        roots.append(node)
    return roots


def _step(
    number: int, below: list[Operator], room: dict[str, int], drawn: random.Random
) -> Operator:
    kind = drawn.choice(list(KINDS))
    count = 2 if kind == "join" and len(below) > 1 else 1
    open_ = [each for each in below if room[key(each)] > 0]
    inputs = tuple(drawn.sample(open_ if len(open_) >= count else below, count))
    for each in inputs:
        room[key(each)] -= 1
    return SimulatedOperator(f"{kind}{number}", inputs)


def _fan_out(mean: float, drawn: random.Random) -> int:
    return max(1, round(drawn.gauss(mean, 1.0)))


def _figures(node: Operator, drawn: random.Random) -> OperatorFigures:
    kind = node.text().removeprefix("step ").rstrip("0123456789")
    costs, selectivities = KINDS[kind]
    return OperatorFigures.declared(
        drawn.uniform(*costs), drawn.uniform(*selectivities), TUPLE_BYTES
    )
