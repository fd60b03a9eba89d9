"""How many tuples of each input a join without windows has to keep: (3.6) to (3.11), TIME-06, -08.

    synchronised     k_i + r_i k_j / r_j                       (3.6)
    lag L            max(1, k_i + r_i k_j / r_j + L)           (3.7)
    several inputs   the most that any of the others asks for  (3.8)

As printed the bounds leave out the tuple that matches (ledger C11), so one is added. A rate of 0
is of an input from which nothing has come: nobody keeps anything for its disorder.
"""

import math
from collections.abc import Sequence

from penstock.qos.joins.figures import InputFigures

MATCHING = 1  # ledger C11


def while_settling(rate: float, other: InputFigures, behind: int | None = None) -> float:
    """Return how many tuples come at a rate while another input settles (r_i k_j / r_j)."""
    tuples = other.factor if behind is None else behind
    return rate * tuples / other.rate if other.rate else 0.0


def kept_for(one: InputFigures, other: InputFigures, lag: int) -> int:
    """Return how many tuples of an input one other input needs, by (3.7) and C11."""
    return max(1, math.ceil(one.factor + while_settling(one.rate, other) + lag)) + MATCHING


def buffer_bound(inputs: Sequence[InputFigures], place: int) -> int:
    """Return how many tuples of an input have to be kept, by (3.8)."""
    one = inputs[place]
    return max(
        kept_for(one, other, one.lag_to(at)) for at, other in enumerate(inputs) if at != place
    )


def joined_rate(inputs: Sequence[InputFigures]) -> float:
    """Return the most rows a second that the join gives, by (3.9)."""
    return sum(each.rate * _others(inputs, place) for place, each in enumerate(inputs))


def joined_factor(inputs: Sequence[InputFigures]) -> int:
    """Return the scrambling factor that its rows have at most, by (3.10)."""
    return sum(each.factor * _others(inputs, place) for place, each in enumerate(inputs))


def factor_by_other_key(factor: int, dependent: int) -> int:
    """Return the factor by another column, whose factor is `dependent` in the first's order (3.11).

    `dependent` is DSF of Def 3.4.1.
    """
    return 2 * factor + dependent


def _others(inputs: Sequence[InputFigures], place: int) -> int:
    return math.prod(each.multiplicity for at, each in enumerate(inputs) if at != place)
