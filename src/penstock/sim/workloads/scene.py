"""Scene: mixed queries with contracts, fed at any times of what the processor can do.

Each stream is cleaned once for five queries: alerts that must be exact and quick, a report that may
miss some tuples, an archive that may miss most, and two aggregates that may be a little wrong.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.plan.operators import Operator, key
from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.units import cut_at_shared
from penstock.qos.contracts.contracts import Contract, Sampling
from penstock.qos.load.forecast import WINDOW_SECONDS
from penstock.qos.load.network import Network, network_of
from penstock.schedule.costs.flow import flow_of
from penstock.schedule.costs.observation import Observation, OperatorFigures, QueryFigures
from penstock.schedule.costs.shape import parts_of, shape_of
from penstock.schedule.costs.work import work_of
from penstock.sim.workloads.arrivals import Times, b_model, bursty, constant, trains
from penstock.sim.workloads.step import SimulatedOperator, stream
from penstock.sim.workloads.workload import Workload

STREAMS = 3
RATE = 400.0  # tuples a second of each stream at a load of 1
TICK = 0.1  # seconds of a train
CLEAN = 0.04  # of the load at capacity, in all streams


@dataclass(frozen=True, slots=True)
class QueryKind:
    """One query over each stream: its share of the load, its contract, and how it samples.

    `groups` of a window make an aggregate; none shows tuples.
    """

    share: float
    contract: Contract
    groups: int = 0
    spread: float = 0.0


KINDS: Mapping[str, QueryKind] = {
    "alerts": QueryKind(0.04, Contract(1.0, 0.0, 10.0)),
    "report": QueryKind(0.07, Contract(3.0, 0.2, 5.0)),
    "board": QueryKind(0.25, Contract(2.0, 0.1, 3.0), groups=4),
    "trend": QueryKind(0.25, Contract(5.0, 0.05, 2.0), groups=1, spread=0.25),
    "archive": QueryKind(0.35, Contract(10.0, 0.9, 1.0)),
}
TRAFFICS = ("constant", "bursty", "b-model")
BURST, BIAS = 2.0, 0.6  # times the mean rate, for about a second; of the b-model


@dataclass(frozen=True, slots=True)
class ContractScene:
    """A workload with its units as a network, its contracts, and how its answers sample."""

    workload: Workload
    network: Network
    contracts: Mapping[str, Contract]
    samplings: Mapping[str, tuple[str, Sampling]]  # rows are those of a group at a rate of one
    seconds: float

    @property
    def tightest(self) -> float:
        """Return the shortest latency that was promised."""
        return min(each.max_latency for each in self.contracts.values())


def traffic(kind: str, rate: float, seconds: float, seed: int) -> Times:
    """Return the tuples of one stream."""
    match kind:
        case "bursty":
            return bursty(rate, seconds, seed, factor=BURST)
        case "b-model":
            return b_model(rate, seconds, seed, bias=BIAS)
        case _:
            return constant(rate, seconds)


def scene(times: Mapping[int, Times], seconds: float) -> ContractScene:
    """Return the scene with some tuples by the number of a stream."""
    queries: dict[str, Operator] = {}
    figures: dict[str, OperatorFigures] = {}
    arrivals, goals, samplings = {}, {}, {}
    for number in range(STREAMS):
        source = stream(f"s{number}")
        cleaned = SimulatedOperator(f"clean{number}", (source,))
        figures[key(source)] = OperatorFigures.declared(0.0, 1.0, 100.0)
        figures[key(cleaned)] = OperatorFigures.declared(CLEAN / STREAMS / RATE, 1.0, 100.0)
        arrivals[key(source)] = trains(times[number], TICK)
        for name, kind in KINDS.items():
            node = SimulatedOperator(f"{name}{number}", (cleaned,))
            query = f"{name}{number}"
            queries[query] = node
            figures[key(node)] = OperatorFigures.declared(kind.share / STREAMS / RATE, 1.0, 100.0)
            goals[query] = QueryFigures(kind.contract.weight)
            if kind.groups:
                rows = WINDOW_SECONDS / kind.groups
                samplings[query] = (key(source), Sampling(rows, kind.spread))
    workload = Workload(Graph(queries), Observation(figures, {}, goals), arrivals, seconds=seconds)
    return ContractScene(
        workload,
        _network(workload),
        {f"{name}{n}": kind.contract for name, kind in KINDS.items() for n in range(STREAMS)},
        samplings,
        seconds,
    )


def mixed_scene(kind: str, load: float, seconds: float, seed: int) -> ContractScene:
    """Return the scene at some times of what the processor can do."""
    times = {
        number: traffic(kind, RATE * load, seconds, seed * 100 + number)
        for number in range(STREAMS)
    }
    return scene(times, seconds)


def _network(workload: Workload) -> Network:
    seen = workload.measured()
    flow = flow_of(shape_of(workload.graph), seen)
    network = network_of(work_of(flow, parts_of(cut_at_shared(workload.graph)), seen))
    return replace(network, rates=dict.fromkeys(network.rates, RATE))
