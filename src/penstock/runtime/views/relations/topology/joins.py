"""`system.joins`: what joins without windows keep of each input, and what each strategy would."""

from collections.abc import Iterator

from penstock.engine.states.joins.oblivious_join import KeptInput, ObliviousJoinState
from penstock.plan.operators import Operator, Scan, walk
from penstock.plan.operators.joins.oblivious_join import ObliviousJoin
from penstock.qos.joins.memory import STRATEGIES, cost
from penstock.runtime.loop.supervisor import Supervisor
from penstock.runtime.views.relations.topology.units import queries_served, short
from penstock.runtime.views.view import Row, View, columns
from penstock.runtime.work.live_unit import LiveUnit


def join_rows(supervisor: Supervisor) -> list[Row]:
    """Return a row for each input of each join without windows."""
    with supervisor.resting():
        served = queries_served(supervisor.topology)
        return [
            {"unit": short(name), "queries": len(served.get(name, ()))} | row
            for name, live in supervisor.topology.units.items()
            for row in _rows(live)
        ]


def _rows(live: LiveUnit) -> Iterator[Row]:
    state = live.state
    if not isinstance(state, ObliviousJoinState):
        return
    told, accuracy = state.told(), round(state.accuracy(), 6)
    predicted = predicted_tuples(told)
    for place, each in enumerate(told):
        figures = each.figures
        furthest = max(figures.lags, key=figures.lag_to)
        yield {
            "input": input_name(state.join, place),
            "key": state.join.joined[place].time.column,
            "scrambled": figures.factor,
            "how": "stated" if each.is_stated else "measured",
            "rate": float(f"{figures.rate:.4g}"),
            "duplicates": figures.multiplicity,
            "lag": figures.lag_to(furthest),
            "lag_to": input_name(state.join, furthest),
            "strategy": state.join.keeping.strategy,
            "memory_rows": each.near + each.unsorted,
            "unsorted_rows": each.unsorted,
            "disk_rows": each.far,
            "memory_bytes": each.memory_bytes,
            "memory_limit": state.memory_limit,
            **{f"predicted_{name}": tuples[place] for name, tuples in predicted.items()},
            "strays": each.strays,
            "accuracy": accuracy,
        }


def predicted_tuples(told: list[KeptInput]) -> dict[str, tuple[int, ...]]:
    """Return how many tuples of each input each strategy keeps in memory, by the cost model."""
    figures = [each.figures for each in told]
    return {name: cost(name, figures).tuples for name in STRATEGIES}


def input_name(join: ObliviousJoin, place: int) -> str:
    """Return the streams that an input is made of."""
    below: Operator = join.joined[place].operator
    return " + ".join(node.stream for node in walk(below) if isinstance(node, Scan))


def memory_lines(state: ObliviousJoinState) -> Iterator[str]:
    """Yield what EXPLAIN says of a join's memory: used and, of each strategy, predicted."""
    told = state.told()
    used = [f"{each.near + each.unsorted:,}" for each in told]
    names = [input_name(state.join, place) for place in range(len(told))]
    yield f"tuples in memory of {', '.join(names)}: {', '.join(used)}"
    own = state.join.keeping.strategy
    for name, tuples in predicted_tuples(told).items():
        mark = "   (taken)" if name == own else ""
        yield f"  predicted {name + ':':<8} {', '.join(f'{each:,}' for each in tuples)}{mark}"


JOINS = View(
    "joins",
    "joins without windows: what they keep of each input, and what each strategy would",
    columns(
        "unit STRING, queries BIGINT, input STRING, key STRING, scrambled BIGINT, how STRING, "
        "rate DOUBLE, duplicates BIGINT, lag BIGINT, lag_to STRING, strategy STRING, "
        "memory_rows BIGINT, unsorted_rows BIGINT, disk_rows BIGINT, memory_bytes BIGINT, "
        "memory_limit BIGINT, predicted_plain BIGINT, predicted_dbf BIGINT, "
        "predicted_msf BIGINT, predicted_hybrid BIGINT, strays BIGINT, accuracy DOUBLE"
    ),
    lambda of: join_rows(of.supervisor),
)
