"""Rules that set themselves off are found, by the shortest way."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from penstock.events.cascades import RuleReach, loop_of

RULES, STREAMS = ("r0", "r1", "r2", "r3"), ("s0", "s1", "s2")
REACHES = st.builds(
    RuleReach,
    st.sets(st.sampled_from(STREAMS)),
    st.sets(st.sampled_from(STREAMS)),
)


@given(st.fixed_dictionaries(dict.fromkeys(RULES, REACHES)))
def test_the_loop_found_is_as_short_as_any_and_none_is_missed(rules: dict[str, RuleReach]) -> None:
    def follows(one: str, other: str) -> bool:
        return bool(set(rules[one].targets) & set(rules[other].reads))

    loops = [
        ("r0", *others)
        for count in range(len(RULES))
        for others in itertools.permutations(RULES[1:], count)
        if all(follows(a, b) for a, b in itertools.pairwise(("r0", *others, "r0")))
    ]
    found = loop_of("r0", rules)
    assert bool(found) == bool(loops)
    if found:
        assert found[0] == found[-1] == "r0"
        assert len(found[::2]) == len(loops[0]) + 1
        for rule, stream, other in zip(found[::2], found[1::2], found[2::2], strict=False):
            assert stream in rules[rule].targets
            assert stream in rules[other].reads
