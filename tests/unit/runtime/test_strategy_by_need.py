"""SET STRATEGY need: one that frees memory where that is short, else one that is quick."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.engine.trains.buffers import BufferBounds
from penstock.errors import BadOptionError, UnknownOptionError
from penstock.qos.contracts.strategy_need import FOR_LATENCY, FOR_MEMORY, PATIENCE_SECONDS
from penstock.runtime.loop.control import EVERYTHING, ROUND_ROBIN, Control, memory_share
from penstock.schedule import Choice
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import Hall, chain


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def seen(control: Control, hall: Hall, seconds: float) -> bool:
    """Let time go by, look, and serve what is needed; say whether that was another strategy."""
    hall.clock.sleep(seconds)
    control.look(-1.0)  # at once: how long the last look took must not count
    other = control.wants_other
    control.serve()
    return other


def test_memory_that_is_short_lets_another_strategy_decide_until_it_is_enough(
    tmp_path: Path,
) -> None:
    bounds = BufferBounds(buffer_bytes=10_000, total_bytes=20_000, keep_bytes=0)
    hall = Hall(tmp_path / "home", bounds=bounds)
    control = Control(hall.dispatcher, ROUND_ROBIN, EVERYTHING)
    hall.add("a", chain("s", "x"))
    assert not seen(control, hall, 2)  # nobody has asked for it
    control.use_strategy(Choice("need"))
    assert control.serving == FOR_LATENCY
    assert control.text() == "need: pcs"
    assert not seen(control, hall, 2)
    hall.push("s", *range(550))
    hall.take_in()
    assert memory_share(hall.topology) > 0.8
    assert seen(control, hall, 2)
    assert control.text() == "need: simplified_segment"
    assert control.serving == FOR_MEMORY
    hall.drain()
    assert memory_share(hall.topology) < 0.5
    assert not seen(control, hall, 2)  # it may be short again
    assert seen(control, hall, PATIENCE_SECONDS + 2)
    assert control.serving == FOR_LATENCY


def test_what_was_chosen_comes_back_by_its_name_and_others_end_it(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    control = Control(hall.dispatcher, ROUND_ROBIN, EVERYTHING)
    control.use_strategy(Choice("need"))
    other = Control(hall.dispatcher, ROUND_ROBIN, EVERYTHING)
    other.bring_back(control.kept())
    assert other.text() == "need: pcs"
    other.use_strategy(Choice("fifo"))
    assert other.text() == "fifo"
    assert not other.wants_other


def test_it_takes_no_parameters_and_is_named_among_the_others(tmp_path: Path) -> None:
    control = Control(Hall(tmp_path / "home").dispatcher, ROUND_ROBIN, EVERYTHING)
    with pytest.raises(UnknownOptionError, match="takes no memory"):
        control.use_strategy(Choice("need", (("memory", 1.0),)))
    with pytest.raises(UnknownOptionError) as refused:
        control.use_strategy(Choice("nede"))
    assert "need" in refused.value.hint
    assert control.text() == "round_robin"


def test_what_says_when_a_run_is_stopped_is_refused_and_an_old_home_goes_on_without_it(
    tmp_path: Path,
) -> None:
    control = Control(Hall(tmp_path / "home").dispatcher, ROUND_ROBIN, EVERYTHING)
    handling = ("handling", "profit_dominant")
    with pytest.raises(BadOptionError, match="runs on Spark are not"):
        control.use_strategy(Choice("optprofit", (handling, ("u", 0.7))))
    assert control.text() == ROUND_ROBIN.text()
    kept = {"strategy": ["optprofit", dict([handling, ("u", 0.7)])], "batching": ["everything", {}]}
    control.bring_back(kept)
    assert control.chosen == Choice("optprofit", (handling,))
