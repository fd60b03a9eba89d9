"""What a simulated processor takes for its work: seconds of its one CPU.

The forms are those of the thesis (Equations 3.1 to 3.3 and chapter 4.3). It states no figures;
these are ours, set so that plan 2 with a window of 10 s is about a quarter more than one processor
can do (E-7), and so that its memory is full with plan 4 about when the thesis' was (E-9).
"""

from dataclasses import dataclass

from penstock.sim.distribution.operator_plan import OperatorPlan, PlanOperator


@dataclass(frozen=True, slots=True)
class ProcessorCosts:
    """Seconds a tuple, a pair, a connection, a request; and what memory holds."""

    queue: float = 1e-4  # to take a tuple from a queue, or to put one there
    single: float = 2e-4  # to evaluate a single-stream operator, a tuple
    pair: float = 1e-7  # of a join: a tuple of one input and one in the other's state
    purge: float = 1e-5  # a tuple that leaves a state
    network: float = 1e-4  # to receive or to send a tuple
    connection: float = 0.01  # of the CPU, for each connection's thread
    request: float = 2e-4  # of the coordinator
    lookup: float = 0.0  # a tuple and operator, where queues are searched and not hashed
    collection: float = 0.03  # of the CPU, for garbage where half of the memory is full
    tuples: float = 1_000_000.0  # that fit in memory
    tuple_bytes: float = 100.0
    join_selectivity: float = 2.0
    stream_rate: float = 40.0  # tuples a second: 72,000 in half an hour
    carried_bytes: float = 20e6  # a second, of a state that moves
    pause_seconds: float = 0.5  # of a unit that moves, whatever its state

    def seconds(self, operator: PlanOperator, states: tuple[float, ...]) -> tuple[float, ...]:
        """Return the seconds of a tuple of each input, by the tuples in the states."""
        if not operator.is_join:
            return (2 * self.queue + self.single + self.lookup,)
        whole = self.queue * (1 + self.join_selectivity) + self.purge + self.lookup
        return tuple(whole + self.pair * states[1 - place] for place in range(2))

    def load(self, plan: OperatorPlan, operator: PlanOperator, window: float) -> float:
        """Return the seconds a second that an operator needs to keep up."""
        rates = plan.rates(self.stream_rate, self.join_selectivity)
        incoming = [rates[name] for name in operator.inputs]
        each = self.seconds(operator, tuple(rate * window for rate in incoming))
        return sum(rate * seconds for rate, seconds in zip(incoming, each, strict=True))
