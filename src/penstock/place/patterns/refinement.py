"""Refinement: one pass after the other that moves units to where a placement is better."""

from collections import Counter
from collections.abc import Mapping
from itertools import combinations

from penstock.place.network import Network
from penstock.place.placement import Placement, bytes_cut

Score = tuple[float, float]  # seconds a second over the bounds, bytes a second cut: less is better
SAME = 1e-9  # of all the work, or of all the bytes: what differs by less is rounding
MOST_PAIRS = 2_000  # that are tried for an exchange
PATIENCE = 64  # moves in a row that gain nothing, after which a pass of a large network ends


def score_of(network: Network, bounds: Mapping[str, float], placement: Placement) -> Score:
    """Return how good a placement is."""
    loads = dict.fromkeys(bounds, 0.0)
    for name, unit in network.units.items():
        loads[placement[name]] += unit.load
    over = sum(max(0.0, load - bounds[name]) for name, load in loads.items())
    return rounded(over, network.load), bytes_cut(placement, network)


def rounded(seconds: float, whole: float) -> float:
    """Return a part of all the work without what is rounding, so that equal parts are equal."""
    step = SAME * whole
    return round(seconds / step) * step if step else 0.0


class Refinement:
    """A placement that passes make better, with the counts that tell what a move would change."""

    def __init__(self, network: Network, bounds: Mapping[str, float], start: Placement) -> None:
        """Count who is where."""
        self.placement = dict(start)
        self._network, self._bounds = network, bounds
        self._whole = network.load
        self._bytes = [size for _, size in network.nets().values()]
        self._nets_of: dict[str, list[int]] = {name: [] for name in network.units}
        self._on: list[Counter[str]] = []
        for number, (units, _) in enumerate(network.nets().values()):
            self._on.append(Counter(self.placement[unit] for unit in units))
            for each in units:
                self._nets_of[each].append(number)
        self._loads = dict.fromkeys(bounds, 0.0)
        for name, unit in network.units.items():
            self._loads[self.placement[name]] += unit.load

    def one_pass(self) -> bool:
        """Move every unit once, best first, then undo what came after the best; tell of a gain."""
        moved: list[tuple[str, str]] = []
        locked: set[str] = set()
        cut, keep = 0.0, 0
        best = self._over(), cut
        while len(moved) - keep < PATIENCE and (found := self._best_move(locked)) is not None:
            change, unit, target = found
            moved.append((unit, self.placement[unit]))
            locked.add(unit)
            self._move(unit, target)
            cut += change[1]
            if self._is_less(now := (self._over(), cut), best):
                best, keep = now, len(moved)
        for unit, source in reversed(moved[keep:]):
            self._move(unit, source)
        return keep > 0

    def exchange(self) -> bool:
        """Exchange the two units that gain most by it; tell of a gain.

        Where processors are full, every single move is over a bound before the other makes room.
        """
        pairs = combinations(self.placement, 2)
        apart = [(a, b) for a, b in pairs if self.placement[a] != self.placement[b]]
        if len(apart) > MOST_PAIRS:
            return False
        before = self._over(), 0.0
        best, chosen = before, None
        for one, other in apart:
            source, target = self.placement[one], self.placement[other]
            cut = self._change(one, target)[1]
            self._move(one, target)
            cut += self._change(other, source)[1]
            self._move(other, source)
            if self._is_less(now := (self._over(), cut), best):
                best, chosen = now, (one, other)
            self._move(other, target)
            self._move(one, source)
        if chosen is not None:
            one, other = chosen
            source, target = self.placement[one], self.placement[other]
            self._move(one, target)
            self._move(other, source)
        return chosen is not None

    def _best_move(self, locked: set[str]) -> tuple[Score, str, str] | None:
        """Return the move that gains most, among units that are not locked."""
        return min(
            (
                (self._change(unit, target), unit, target)
                for unit, source in self.placement.items()
                if unit not in locked
                for target in self._bounds
                if target != source
            ),
            default=None,
        )

    def _change(self, unit: str, target: str) -> Score:
        """Return what a move would add to the score."""
        source, load = self.placement[unit], self._network.units[unit].load
        before = self._excess(source, 0.0) + self._excess(target, 0.0)
        over = self._excess(source, -load) + self._excess(target, load) - before
        cut = sum(
            self._bytes[net] * ((self._on[net][target] == 0) - (self._on[net][source] == 1))
            for net in self._nets_of[unit]
        )
        return rounded(over, self._whole), cut

    def _over(self) -> float:
        return sum(self._excess(name, 0.0) for name in self._bounds)

    def _excess(self, processor: str, more: float) -> float:
        return max(0.0, self._loads[processor] + more - self._bounds[processor])

    def _move(self, unit: str, target: str) -> None:
        source, load = self.placement[unit], self._network.units[unit].load
        self.placement[unit] = target
        self._loads[source] -= load
        self._loads[target] += load
        for net in self._nets_of[unit]:
            self._on[net][source] -= 1
            self._on[net][target] += 1

    def _is_less(self, one: Score, other: Score) -> bool:
        if abs(one[0] - other[0]) > SAME * self._whole:
            return one[0] < other[0]
        return one[1] < other[1] - SAME * sum(self._bytes)
