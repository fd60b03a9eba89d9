"""Small workloads for the simulator: lines of steps, each over a stream of its own."""

from collections.abc import Sequence

from hypothesis import strategies as st

from penstock.plan.operators import Operator, key
from penstock.plan.operators.graph import Graph
from penstock.schedule.costs.observation import Observation, OperatorFigures, QueryFigures
from penstock.sim.workloads.arrivals import Arrival
from penstock.sim.workloads.step import SimulatedOperator, stream
from penstock.sim.workloads.workload import Workload

Line = tuple[Sequence[tuple[float, float]], Sequence[tuple[float, int]]]  # steps and arrivals


def lines(*paths: Line, weights: Sequence[float] = (), validity: float = 1e9) -> Workload:
    """Return a query a path: (seconds, selectivity) of its steps, and (time, tuples) that come."""
    queries: dict[str, Operator] = {}
    figures, arrivals = {}, {}
    for number, (steps, times) in enumerate(paths):
        node: Operator = stream(f"s{number}")
        figures[key(node)] = OperatorFigures.declared(0.0, 1.0, 1.0)
        arrivals[key(node)] = [Arrival(rows, at, at) for at, rows in times]
        for place, (seconds, selectivity) in enumerate(steps):
            node = SimulatedOperator(f"p{number}o{place}", (node,))
            figures[key(node)] = OperatorFigures.declared(seconds, selectivity, 1.0)
        queries[f"q{number}"] = node
    goals = {f"q{n}": QueryFigures(weights[n] if weights else 1.0) for n in range(len(paths))}
    return Workload(
        Graph(queries), Observation(figures, {}, goals), arrivals, dict.fromkeys(arrivals, validity)
    )


@st.composite
def some_lines(
    draw: st.DrawFn, *, most_paths: int = 3, most_steps: int = 3, most_tuples: int = 6
) -> Workload:
    """Draw paths of small whole costs, and single tuples at whole times."""
    paths = []
    for _ in range(draw(st.integers(1, most_paths))):
        cost, kept = st.integers(1, 4), st.sampled_from([0.0, 0.25, 0.5, 1.0])
        steps = draw(st.lists(st.tuples(cost, kept), min_size=1, max_size=most_steps))
        times = draw(st.lists(st.integers(0, 12), min_size=1, max_size=most_tuples))
        paths.append((steps, [(float(at), 1) for at in sorted(times)]))
    return lines(*paths)
