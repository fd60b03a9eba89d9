"""Gain: move what saves more work than the move itself costs, and only then.

What is counted is seconds of a core. A processor loses the work that it is given beyond its
capacity; bytes and connections to others, and to who asked, are work, too. Where there is room they
are nearly free, so they count by themselves for a twentieth. What a placement saves over the time
for which it is expected to stand is its gain. A move carries a state and makes its unit wait.
Looked at are all single moves and what refinement of the present placement leads to (`least_cut`),
by loads and rates as they were measured.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.place.patterns.least_cut import bounds_of, refined
from penstock.place.placement import Move, Placement, connections_of, loads_of, moves_between
from penstock.place.situation import Situation

IN_ITSELF = 0.05  # what handling counts where there is room for it


@dataclass(frozen=True, slots=True)
class Gain:
    """The policy, with what it takes bytes, connections and moves to cost."""

    byte_seconds: float = 2e-8  # of a core, to send or to receive a byte
    connection_seconds: float = 0.005  # a second, at each end of a connection
    carried_bytes: float = 50e6  # of state a second
    pause_seconds: float = 0.5  # in which a unit that moves does nothing
    horizon_seconds: float = 300.0
    comfortable: float = 0.9  # of a capacity: a queue in front of a full processor only grows

    def __call__(self, situation: Situation) -> Iterator[Placement]:
        """Yield the placements that gain more than they cost, best first."""
        present = self._wasted(situation, situation.placement)
        found: list[tuple[float, int, Placement]] = []
        for placement in _candidates(situation):
            moves = moves_between(situation.placement, placement)
            saved = present - self._wasted(situation, placement)
            net = saved * self.horizon_seconds - self.cost_of(situation, moves)
            if moves and net > 0:
                found.append((net, len(found), placement))
        for _, _, placement in sorted(found, key=lambda each: (-each[0], each[1])):
            yield placement

    def cost_of(self, situation: Situation, moves: tuple[Move, ...]) -> float:
        """Return the seconds of a core that moves take, and that their units do not work."""
        return sum(
            2 * situation.statistics.of(move.unit).state_bytes / self.carried_bytes
            + self.pause_seconds * situation.network.units[move.unit].load
            for move in moves
        )

    def _wasted(self, situation: Situation, placement: Placement) -> float:
        """Return the seconds a second that are lost to overload and to what goes between."""
        network = situation.network
        loads = loads_of(placement, network, situation.processors)
        handling: defaultdict[str, float] = defaultdict(float)
        for each in connections_of(placement, network):
            size = network.streams.get(each.name)
            bytes_ = network.units[each.name].output_bytes if size is None else size
            for end in (each.source, each.target):
                if end is not None:
                    handling[end] += self.connection_seconds + self.byte_seconds * bytes_
        for name, readers in network.readers().items():
            if name in network.units and not readers:
                sent = self.byte_seconds * network.units[name].output_bytes
                handling[placement[name]] += self.connection_seconds + sent
        over = sum(
            max(0.0, loads[each.name] + handling[each.name] - self.comfortable * each.capacity)
            for each in situation.processors
        )
        return over + IN_ITSELF * sum(handling.values())


def _candidates(situation: Situation) -> Iterator[Placement]:
    placement, targets = situation.placement, situation.targets()
    movable = {unit for each in situation.processors for unit in situation.movable(each.name)}
    for unit, source in placement.items():
        if unit in movable:
            for target in targets:
                if target != source:
                    yield {**placement, unit: target}
    whole = refined(
        situation.network, bounds_of(situation.network, situation.processors), placement
    )
    moves = moves_between(placement, whole)
    if all(move.unit in movable and move.target in targets for move in moves):
        yield whole


gain = Gain()
