from penstock.qos.contracts.strategy_need import (
    FOR_LATENCY,
    FOR_MEMORY,
    PATIENCE_SECONDS,
    Need,
    need,
)
from penstock.schedule import STRATEGIES


def test_short_memory_asks_for_a_strategy_that_frees_it_at_once() -> None:
    assert need(Need(), 81.0, 100.0, 0.0).strategy == FOR_MEMORY
    assert need(Need(), 79.0, 100.0, 0.0).strategy == FOR_LATENCY
    assert {FOR_MEMORY.name, FOR_LATENCY.name} <= STRATEGIES.keys()


def test_it_goes_back_only_after_a_while_of_enough() -> None:
    state = need(Need(), 90.0, 100.0, 0.0)
    state = need(state, 40.0, 100.0, 1.0)
    state = need(state, 60.0, 100.0, 2.0)
    state = need(state, 40.0, 100.0, 3.0)
    assert need(state, 40.0, 100.0, 2.0 + PATIENCE_SECONDS).is_memory
    assert not need(state, 40.0, 100.0, 3.0 + PATIENCE_SECONDS).is_memory


def test_no_memory_at_all_is_short() -> None:
    assert need(Need(), 0.0, 0.0, 0.0).is_memory
