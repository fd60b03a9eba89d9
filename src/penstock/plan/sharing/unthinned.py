"""Unthinned: what a section behind a gate makes of tuples of which none was dropped.

They all stand for themselves: nothing has to be told apart by what the gate kept, and nothing be
kept that only tells how wrong a sample may be. What is left out is known without looking: the
share is one, squares add nothing to a variance, and of values that vary by nothing it does not
matter how many there were, only whether there were any.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.plan.operators.bundles.member import Member
from penstock.plan.operators.gate import KEPT
from penstock.plan.sharing.layout import Layout, aggregate_name


@dataclass(frozen=True, slots=True)
class Unthinned:
    """`layout` is what has to be made, `zeros` are partials that are none of it.

    Those in `seen` are one where another partial, given with it, is anything at all.
    """

    layout: Layout
    zeros: frozenset[str]
    seen: dict[str, str]


def unthinned_of(members: Sequence[Member], layout: Layout) -> Unthinned | None:
    """Return it for the members of a section, None where they stand behind no gate."""
    zeros, seen, used = set[str](), dict[str, str](), set[str]()
    for member in members:
        if member.scaling is None:
            return None
        names = {name: aggregate_name(each) for name, each in member.aggregate.aggregates}
        used.add(names[member.scaling.every])
        for each in member.scaling.estimates:
            if each.kind == "sum":
                seen[names[each.rows]] = names[each.total]
            else:
                used.add(names[each.rows])
            used |= {names[each.total]} if each.total else set()
            zeros |= {names[each.squares]} if each.squares else set()
    zeros -= used
    left_out = zeros | (seen.keys() - used)
    return Unthinned(
        replace(
            layout,
            keys=tuple(each for each in layout.keys if each[0] != KEPT),
            aggregates=tuple(each for each in layout.aggregates if each[0] not in left_out),
        ),
        frozenset(map(_partial, zeros)),
        {_partial(name): _partial(seen[name]) for name in left_out - zeros},
    )


def _partial(name: str) -> str:
    """Return the one partial column of a count or a sum."""
    return f"{name}_0"
