from collections.abc import Sequence

from penstock.schedule import ReadyUnit, RoundRobin
from penstock.schedule.strategies.guarded import Guarded


class Confused(RoundRobin):
    def next(self, ready: Sequence[ReadyUnit], now: float) -> str | None:
        return "gone"


READY = [ReadyUnit("a", 1, 0.0), ReadyUnit("b", 1, 0.0)]


def test_round_robin_goes_on_where_a_strategy_names_what_is_not_ready() -> None:
    told: list[str] = []
    guarded = Guarded(Confused(), told.append)
    assert [guarded.next(READY, float(n)) for n in range(4)] == ["a", "b", "a", "b"]
    assert guarded.next([], 5.0) is None
    assert len(told) == 5
    assert "gone" in told[0]


def test_a_sound_strategy_is_left_alone() -> None:
    told: list[str] = []
    guarded = Guarded(RoundRobin(), told.append)
    assert [guarded.next(READY, float(n)) for n in range(3)] == ["a", "b", "a"]
    assert told == []
