"""The load and the peers of the benchmark of flows, as far as they need no Spark."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.flows.peers import numpy_loop
from benchmarks.flows.signals import CHANNELS, Signals, packed, unpacked, written
from benchmarks.flows.tables import LOOP, OURS, Case, cheap_table, degrees_table
from benchmarks.flows.work import spectrum, times_for
from benchmarks.pace import Pace

SIZE = Signals(Path(), size=8, samples=64, files=2)


def test_packed_windows_come_back() -> None:
    rows = np.arange(12, dtype=np.complex64).reshape(3, 4)
    column = pa.chunked_array([packed(rows[:1]), packed(rows[1:])])
    assert (unpacked(column, 4) == rows).all()
    assert column[1].as_py() == rows[1].tobytes()


def test_the_same_day_is_the_same_signal_and_another_day_another(tmp_path: Path) -> None:
    one, same, other = (
        pa.concat_tables(written(SIZE, day, tmp_path / name).tables())
        for name, day in (("a", 1), ("b", 1), ("c", 2))
    )
    assert one.equals(same)
    assert not one.equals(other)
    assert one.num_rows == 16
    assert (np.diff(one["ts"].cast("int64").to_numpy()) > 0).all()


@pytest.mark.parametrize("times", [1, 3])
def test_the_loop_says_what_numpy_says_however_often_it_does_it(tmp_path: Path, times: int) -> None:
    signals, said = written(SIZE, 1, tmp_path / "files"), list[pa.Table]()
    marks = numpy_loop(spectrum(times), signals, tmp_path, said)
    assert [mark.rows for mark in marks] == [8, 16]
    found, given = pa.concat_tables(said), pa.concat_tables(signals.tables())
    for name in CHANNELS:
        assert unpacked(found[name], 8) == pytest.approx(np.fft.fft(unpacked(given[name], 8)))


def test_a_dearer_window_needs_more_transforms() -> None:
    assert times_for(64, 0.0) == 1
    assert times_for(64, 0.01) > 1


def test_figures_follow_from_windows_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    rates = {OURS: 100.0, LOOP: 250.0, "carried": 50.0, "carried in jobs": 125.0}
    rates |= {"row UDF": 10.0, "row UDF, pickled": 5.0, "pandas UDF": 20.0}
    case = Case(SIZE, 1, {side: [Pace(rate, 1.0)] for side, rate in rates.items()})
    assert case.overhead() == pytest.approx(10_000 - 2_000)
    (row,) = cheap_table([case]).rows
    assert row[-4:] == ["0.80", "10.0x", "5.0x", "8,000"]


def test_claims_are_told_with_the_cases_in_which_they_hold() -> None:
    def case(split: float) -> Case:
        rates = {"central, driver": 5.0, "distribute, driver": 8.0, "split, driver": split}
        rates[LOOP] = split - 3.0
        return Case(SIZE, 1, {side: [Pace(rate, 1.0)] for side, rate in rates.items()})

    told = degrees_table([case(9.0), case(7.0)]).notes
    assert "numpy in one thread: in 1 of 2 cases" in told[0]
    assert told[1].startswith("two branches beat one: in 2 of 2")
    assert "distributed to two: in 1 of 2 cases (8 × 1)" in told[2]
