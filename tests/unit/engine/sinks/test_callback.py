import pyarrow as pa
import pytest

from penstock.engine.sinks.callback import CallbackSink
from penstock.engine.sinks.sink import Delivery
from penstock.errors import SinkError

ROWS = pa.table({"car": ["a"]})


def test_the_function_gets_the_rows_and_the_number() -> None:
    calls = []
    CallbackSink(lambda rows, number: calls.append((rows, number))).write(
        Delivery("turns", 7, ROWS)
    )
    assert calls == [(ROWS, 7)]


@pytest.mark.parametrize("error", [KeyError, SystemExit])
def test_what_the_function_raises_is_the_cause(error: type[BaseException]) -> None:
    def fail(_: pa.Table, __: int) -> None:
        raise error("plate")

    with pytest.raises(SinkError) as caught:
        CallbackSink(fail).write(Delivery("turns", 7, ROWS))
    assert caught.value.code == "SINK_FAILED"
    assert isinstance(caught.value.__cause__, error)
    assert "delivery 7" in caught.value.message


def test_whoever_interrupts_it_is_not_held_up() -> None:
    def interrupt(_: pa.Table, __: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CallbackSink(interrupt).write(Delivery("turns", 1, ROWS))


def test_only_its_owner_can_say_that_it_is_repeatable() -> None:
    assert not CallbackSink(print).repeatable
    assert CallbackSink(print, repeatable=True).repeatable
