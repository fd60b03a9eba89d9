"""The thesis' queries 1 to 3 (its Figure 3.6 is lost), over generated streams.

1   J of S1, S2, S3                    S2 congested at 10 s to 1/8 for 30 s, S3 bursts at 80 s
2   J3 of S7 = J1(S1, S2, S3) and S8 = J2(S4, S5, S6), by the same column; J1 is held up
3   the same, J3 by another column
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.experiments.thesis.joins.lifetimes import joined
from penstock.experiments.thesis.joins.streams import (
    MOST_SCRAMBLED,
    KeyedStream,
    Span,
    generated,
)
from penstock.experiments.trial import Effort
from penstock.qos.joins.bounds import factor_by_other_key, joined_factor
from penstock.qos.joins.figures import InputFigures

SECONDS = 100.0  # that the thesis' time-line takes; an effort of 40 s is all of it
CONGESTION = Span(10, 40, 1 / 8)
BURST = Span(80, 90, 8)
INPUTS = 3  # of each of the joins at the leaves


@dataclass(frozen=True, slots=True, eq=False)
class JoinScene:
    """The inputs of the join that is looked at; `below` are those of the joins under it.

    `factors` are what is known of the inputs: of rows that joins give, by (3.10) and (3.11).
    `seconds` is how long all goes on, as a `scale` of the thesis' time-line.
    """

    streams: Sequence[KeyedStream]
    factors: Sequence[int]
    seconds: float
    scale: float
    below: Sequence[Sequence[KeyedStream]] = ()


def scene(query: int, seed: int, effort: Effort) -> JoinScene:
    """Return a scene of a query."""
    drawn = np.random.default_rng(seed * 10 + query)
    scale = min(1.0, effort.seconds / Effort().seconds)
    if query == 1:
        spans: list[list[Span]] = [[], [CONGESTION], [BURST]]
        streams = [_drawn(drawn, each, scale) for each in spans]
        return JoinScene(streams, [each.factor for each in streams], SECONDS * scale, scale)
    held = [_drawn(drawn, [CONGESTION] if at == 1 else [], scale) for at in range(INPUTS)]
    free = [_drawn(drawn, [], scale) for _ in range(INPUTS)]
    rows = [joined(each) for each in (held, free)]
    factors = [joined_factor(_figures(each)) for each in (held, free)]
    if query != 2:  # noqa: PLR2004  (the thesis' number)
        rows = [each.by_others() for each in rows]
        both = zip(factors, (held, free), strict=True)
        factors = [factor_by_other_key(factor, each[0].dependent) for factor, each in both]
    return JoinScene(rows, factors, SECONDS * scale, scale, (held, free))


def _figures(streams: Sequence[KeyedStream]) -> list[InputFigures]:
    return [InputFigures(each.factor, each.rate, each.multiplicity) for each in streams]


def _drawn(drawn: np.random.Generator, spans: Sequence[Span], scale: float) -> KeyedStream:
    shorter = [Span(each.begins * scale, each.ends * scale, each.times) for each in spans]
    scrambled = int(drawn.integers(MOST_SCRAMBLED + 1))
    return generated(drawn, SECONDS * scale, shorter, scrambled)
