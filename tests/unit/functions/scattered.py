"""Sites as processes of their own: messages between them, taken in any order."""

import pickle
from collections import deque
from collections.abc import Callable, Sequence

import pyarrow as pa

from penstock.functions import Dataflow, Items, StreamType
from penstock.functions.flows.flow import FlowInput, Source
from penstock.functions.flows.program import Program, program, run_program
from penstock.functions.flows.run import entered, fresh_entry
from penstock.functions.operators.operator import InputItems, Withheld


def site_programs(flow: Dataflow, types: Sequence[StreamType]) -> tuple[Program, ...]:
    """Return the program of each site, each after those whose items it needs."""
    return tuple(
        program(flow, types, [at for at, node in enumerate(flow.nodes) if node.site == site])
        for site in flow.sites
    )


def run_scattered(
    flow: Dataflow,
    kind: StreamType,
    trains: Sequence[pa.Table],
    choose: Callable[[int], int],
) -> tuple[Items, list[Withheld]]:
    """Return the first output; `choose(n)` says which of n messages is taken next.

    Messages of one way are taken in order. Programs and states go through pickle, as they do on
    their way to another process.
    """
    programs: list[Program] = [
        pickle.loads(pickle.dumps(each)) for each in site_programs(flow, (kind,))
    ]
    states = [each.fresh() for each in programs]
    queues: dict[tuple[int, Source], deque[InputItems]] = {
        (at, way): deque() for at, each in enumerate(programs) for way in each.ways_in
    }
    entry = fresh_entry(1)
    for place, train in enumerate(trains):
        ended = place == len(trains) - 1
        entry, arrivals, _ = entered(entry, (kind,), {0: train}, frozenset({0} if ended else ()))
        for (_, way), queue in queues.items():
            if isinstance(way, FlowInput):
                queue.append(arrivals[way])
    out: list[pa.Table] = []
    withheld: list[Withheld] = []
    now = 0.0
    while full := [key for key, queue in queues.items() if queue]:
        at, way = full[choose(len(full))]
        now += 1.0
        arrival = queues[at, way].popleft()
        ran = run_program(programs[at], states[at], {way: arrival}, now, lambda: 0.0)
        states[at] = dict(ran.states)
        withheld += ran.withheld
        for node, message in ran.out.items():
            for (_, source), queue in queues.items():
                if source == node:
                    queue.append(message)
            if node == flow.outputs[0]:
                out.append(message.items.packed())
    kind_out = programs[-1].operators[-1].type
    return Items.from_table(kind_out, pa.concat_tables(out)), withheld
