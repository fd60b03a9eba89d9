"""Cascades: rules that set off rules, and how far that may go."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

DEEPEST = 16  # steps from a tuple that came from outside to an action; more are a loop


@dataclass(frozen=True, slots=True)
class RuleReach:
    """What a rule looks at, through all queries below its event, and the streams it adds to."""

    reads: Collection[str]
    targets: Collection[str]


def loop_of(name: str, rules: Mapping[str, RuleReach]) -> list[str]:
    """Return a way on which a rule can set itself off, or nothing: rule, stream, rule … rule."""
    seen: set[str] = set()
    ways: list[list[str]] = [[name]]
    while ways:
        way = ways.pop(0)
        for target in sorted(rules[way[-1]].targets):
            for other in sorted(rules):
                if target not in rules[other].reads:
                    continue
                if other == name:
                    return [*way, target, name]
                if other not in seen:
                    seen.add(other)
                    ways.append([*way, target, other])
    return []
