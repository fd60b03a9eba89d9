"""Slices of time: what they are, and when they are complete."""

from dataclasses import replace
from fractions import Fraction

import pytest

from penstock.model.grids import NO_WINDOW, Aggregate, Axis, PerspectiveDefinition, Topology, Window
from penstock.model.schema import Column, Schema
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import EventTime, Scan, TimeSlices, key
from penstock.plan.operators.completion import Completion, completion, waiting_operators
from penstock.plan.operators.identity import identity
from penstock.plan.operators.joins.join_input import JoinInput

SECOND = 1_000_000
FINE = Topology(Axis(Fraction(1)), Axis(Fraction(1, 10)), Axis(Fraction(1, 10)))
STATIONS = Scan("s", 0, Schema((Column("ts", "timestamp"),)), (EventTime("ts"),))
HOURLY = PerspectiveDefinition("hourly", ("b",), Aggregate("avg"), Axis(Fraction(3600)))


def slices(text: str = "", window: Window = NO_WINDOW, period: int | None = None) -> TimeSlices:
    read = JoinInput(STATIONS, EventTime("ts"), (("ts", "time"),))
    time = Axis(Fraction(3600), period=None if period is None else Fraction(period))
    return TimeSlices((read,), (("b", FINE),), (replace(HOURLY, text=text),), window, time)


def test_how_it_was_written_makes_no_other_operator() -> None:
    assert key(slices("CREATE …")) == key(slices("create …"))
    assert key(slices()) != key(slices(window=Window(lat=(Fraction(1), Fraction(2)))))


def test_it_is_who_it_was() -> None:
    """Homes hold this: see tests/golden/test_identity.py."""
    fine = '{"lat":["Axis",{"size":"1/10","step":"1/10"}],"lon":["Axis",{"size":"1/10",'
    fine += '"step":"1/10"}],"time":["Axis",{"size":"1","step":"1"}]}'
    hourly = '{"function":["Aggregate",{"name":"avg"}],"name":"hourly","sources":["b"],'
    hourly += '"time":["Axis",{"size":"3600","step":"3600"}]}'
    read = f'{{"columns":[["ts","time"]],"operator":"{key(STATIONS)}",'
    read += '"time":["EventTime",{"column":"ts"}]}'
    assert identity(slices()) == (
        f'["TimeSlices",[[["JoinInput",{read}]],[["b",["Topology",{fine}]]],'
        f'[["PerspectiveDefinition",{hourly}]],["Window",{{}}]]]'
    )


def test_rows_are_complete_at_the_end_of_the_first_open_slice() -> None:
    operator = slices()
    assert waiting_operators(operator, operator) == {key(operator): operator}
    found = completion(operator, operator, 3599 * SECOND, None)
    assert found == Completion(3600 * SECOND, 3600 * SECOND)
    found = completion(operator, operator, 3600 * SECOND, None)
    assert found == Completion(7200 * SECOND, 7200 * SECOND)
    assert completion(operator, operator, BEGIN_OF_TIME, None) is None
    assert completion(operator, operator, END_OF_TIME, None) is None


def test_scattered_cells_are_complete_with_their_window() -> None:
    operator = slices(window=Window((Fraction(10), Fraction(20))), period=7200)
    assert operator.times == ()
    assert [operator.open_at(at * SECOND) for at in (5, 19, 20)] == [
        10 * SECOND,
        10 * SECOND,
        20 * SECOND,
    ]
    assert operator.end_of(10 * SECOND) == operator.after(12 * SECOND) == 20 * SECOND
    assert operator.first_from(11 * SECOND) == 20 * SECOND


def test_cells_are_no_sql() -> None:
    with pytest.raises(TypeError):
        slices().sql(["s"])
    assert "hourly over b" in slices().text()
