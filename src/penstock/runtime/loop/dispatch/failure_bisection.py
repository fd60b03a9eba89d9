"""Failing members: which members make a bundle's run fail, found by halves."""

from collections.abc import Callable, Sequence

from penstock.plan.operators.bundles.member import Asking

MAX_PROBES = 64  # each is a run; six failing members among a thousand are found with as many

Fails = Callable[[Sequence[Asking]], bool]


def bisect_failures(members: Sequence[Asking], fails: Fails) -> list[Asking]:
    """Return the members without which a run does not fail; all of them fail together.

    Where that takes too many probes, those that are still suspected are named as well: whoever
    runs alone shows whether it fails.
    """
    probes = 0
    suspected, found = [list(members)], list[Asking]()
    while suspected:
        group = suspected.pop()
        if len(group) == 1 or probes >= MAX_PROBES:
            found += group
            continue
        half = len(group) // 2
        failing = [each for each in (group[:half], group[half:]) if fails(each)]
        probes += 2
        suspected += failing or [[each] for each in group]  # only together do they fail
    return found
